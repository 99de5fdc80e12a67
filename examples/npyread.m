function x = npyread(path)
% NPYREAD  Read a .npy file of NumPy in Octave or MATLAB.
%
%   x = npyread("a.svd/U.npy") is the array in the file, of the class that the numbers have there. Arrays of
%   one dimension become columns. Read are floats of 32 and 64 bits, integers and bool, of at most two
%   dimensions, in either byte order and either order of the elements.
  [file, message] = fopen(path, 'r', 'ieee-le');
  if file < 0
    error('npyread: %s: %s', path, message);
  end
  closing = onCleanup(@() fclose(file));
  magic = fread(file, 8, 'uint8=>double')';
  if numel(magic) < 8 || ~isequal(magic(1:6), [147 double('NUMPY')])
    error('npyread: %s: not a .npy file', path);
  end
  if magic(7) == 1
    bytes = fread(file, 1, 'uint16=>double');
  else
    bytes = fread(file, 1, 'uint32=>double');
  end
  header = fread(file, bytes, 'uint8=>char')';
  descr = regexp(header, '''descr'': ''([^'']*)''', 'tokens', 'once');
  fortran = regexp(header, '''fortran_order'': (\w+)', 'tokens', 'once');
  shape = regexp(header, '''shape'': \(([^)]*)\)', 'tokens', 'once');
  if isempty(descr) || isempty(fortran) || isempty(shape)
    error('npyread: %s: an array that is not read here: %s', path, header);
  end
  shape = sscanf(strrep(shape{1}, ',', ' '), '%f')';
  names = {'f8', 'f4', 'i8', 'i4', 'i2', 'i1', 'u8', 'u4', 'u2', 'u1', 'b1'};
  classes = {'double', 'single', 'int64', 'int32', 'int16', 'int8', 'uint64', 'uint32', 'uint16', 'uint8', ...
             'uint8'};
  known = strcmp(descr{1}(2:end), names);
  if ~any(known) || numel(shape) > 2 || isempty(shape)
    error('npyread: %s: %s of %d dimensions is not read here', path, descr{1}, numel(shape));
  end
  order = 'ieee-le';
  if descr{1}(1) == '>'
    order = 'ieee-be';
  end
  type = classes{known};
  if numel(shape) == 1
    shape = [shape 1];
  end
  x = fread(file, prod(shape), [type '=>' type], 0, order);
  if numel(x) ~= prod(shape)
    error('npyread: %s: truncated', path);
  end
  if strcmp(fortran{1}, 'True')
    x = reshape(x, shape);
  else
    x = reshape(x, fliplr(shape)).';
  end
  if strcmp(descr{1}, '|b1')
    x = logical(x);
  end
end
