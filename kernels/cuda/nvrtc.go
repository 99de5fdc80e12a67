package cuda

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"jmpi/internal/nvidia"
)

// compiler is NVRTC, NVIDIA's run-time compiler.
type compiler struct {
	version string // "13.0"

	nvrtcGetErrorString, nvrtcCreateProgram, nvrtcDestroyProgram, nvrtcCompileProgram,
	nvrtcGetProgramLogSize, nvrtcGetProgramLog, nvrtcGetCUBINSize, nvrtcGetCUBIN uintptr
}

// loadCompiler opens NVRTC once.
var loadCompiler = sync.OnceValues(func() (*compiler, error) {
	lib, err := nvidia.NVRTC()
	if err != nil {
		return nil, fmt.Errorf("cuda: NVRTC, the run-time compiler of the CUDA toolkit: %w", err)
	}
	c := &compiler{}
	var nvrtcVersion uintptr
	err = lib.Bind(nvidia.Routines{
		"nvrtcVersion": &nvrtcVersion, "nvrtcGetErrorString": &c.nvrtcGetErrorString,
		"nvrtcCreateProgram": &c.nvrtcCreateProgram, "nvrtcDestroyProgram": &c.nvrtcDestroyProgram,
		"nvrtcCompileProgram": &c.nvrtcCompileProgram, "nvrtcGetProgramLogSize": &c.nvrtcGetProgramLogSize,
		"nvrtcGetProgramLog": &c.nvrtcGetProgramLog, "nvrtcGetCUBINSize": &c.nvrtcGetCUBINSize,
		"nvrtcGetCUBIN": &c.nvrtcGetCUBIN,
	})
	if err != nil {
		return nil, fmt.Errorf("cuda: NVRTC: %w", err)
	}
	var major, minor int32
	nvidia.Invoke(nvrtcVersion, uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor)))
	c.version = fmt.Sprintf("%d.%d", major, minor)
	return c, nil
})

// cStrings are strings as C wants them, kept in place until they are released.
type cStrings struct {
	pointers []uintptr
	pin      runtime.Pinner
}

func (s *cStrings) add(text string) uintptr {
	b := append([]byte(text), 0)
	s.pin.Pin(&b[0])
	s.pointers = append(s.pointers, uintptr(unsafe.Pointer(&b[0])))
	return s.pointers[len(s.pointers)-1]
}

// array returns the address of the array of the strings' addresses.
func (s *cStrings) array() uintptr {
	if len(s.pointers) == 0 {
		return 0
	}
	s.pin.Pin(&s.pointers[0])
	return uintptr(unsafe.Pointer(&s.pointers[0]))
}

// compile returns the machine code of a source file that may include the headers, a *CompileError
// if it has faults.
func (c *compiler) compile(file, source string, headers []header, options []string) ([]byte, error) {
	var own, names, texts, flags cStrings
	for _, s := range []*cStrings{&own, &names, &texts, &flags} {
		defer s.pin.Unpin()
	}
	for _, h := range headers {
		names.add(h.name)
		texts.add(h.text)
	}
	for _, o := range options {
		flags.add(o)
	}
	var program uintptr
	code := nvidia.Invoke(c.nvrtcCreateProgram, uintptr(unsafe.Pointer(&program)), own.add(source),
		own.add(file), uintptr(len(headers)), texts.array(), names.array())
	if err := c.check("nvrtcCreateProgram", code); err != nil {
		return nil, err
	}
	defer func() { nvidia.Invoke(c.nvrtcDestroyProgram, uintptr(unsafe.Pointer(&program))) }()
	code = nvidia.Invoke(c.nvrtcCompileProgram, program, uintptr(len(options)), flags.array())
	if code != 0 {
		log, err := c.output(program, c.nvrtcGetProgramLogSize, c.nvrtcGetProgramLog)
		if err != nil {
			return nil, err
		}
		return nil, newCompileError(file, source, headers, options, string(log))
	}
	return c.output(program, c.nvrtcGetCUBINSize, c.nvrtcGetCUBIN)
}

// output returns what a pair of routines for size and contents give.
func (c *compiler) output(program, size, contents uintptr) ([]byte, error) {
	var n uintptr
	if err := c.check("the size of the compiler's output",
		nvidia.Invoke(size, program, uintptr(unsafe.Pointer(&n)))); err != nil || n == 0 {
		return nil, err
	}
	b := make([]byte, n)
	return b, c.check("the compiler's output", nvidia.Invoke(contents, program, uintptr(unsafe.Pointer(&b[0]))))
}

func (c *compiler) check(call string, code int32) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("cuda: %w", &callError{call, code, nvidia.Text(c.nvrtcGetErrorString, uintptr(code))})
}
