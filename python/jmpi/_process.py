"""One run of the program: the command line, the launcher, what it prints, and how it ends."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from typing import Callable, Deque, Dict, List, Optional, Sequence, Union

from . import _guard
from ._errors import Error, UsageError, error

Path = Union[str, "os.PathLike[str]"]
Launcher = Union[str, Sequence[str], None]
Progress = Union[bool, None, Callable[[str], None]]

# Variables by which a launcher tells its ranks who they are. A Python program that is such a rank itself must
# not hand them on.
RANK_VARIABLES = ("OMPI_COMM_WORLD_", "OMPI_UNIVERSE_", "PMIX_", "PMI_", "SLURM_STEP_", "SLURM_PROCID")


def environment() -> Dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(RANK_VARIABLES)}


def find(program: Optional[Path]) -> str:
    """The path of the program jmpi."""
    name = os.fspath(program) if program else os.environ.get("JMPI") or "jmpi"
    path = shutil.which(name)
    if path is None:
        raise Error(f"{name}: there is no such program; install jmpi (make install), or name it: "
                    "program=\"/path/to/jmpi\", or the environment variable JMPI", 127)
    return os.path.abspath(path)


def launch(launcher: Launcher, ranks: Optional[int], hostfile: Optional[Path]) -> List[str]:
    """The words before the program; none where it needs no launcher."""
    if ranks is not None and ranks < 1:
        raise UsageError(f"ranks={ranks}: must be at least 1", 2)
    if launcher is None:
        if hostfile is None and (ranks or 1) == 1:
            return []
        launcher = "mpirun"
    words = shlex.split(launcher) if isinstance(launcher, str) else [os.fspath(word) for word in launcher]
    if not words:
        raise UsageError("launcher: give \"mpirun\", \"srun\", or a command that begins with one of them", 2)
    if shutil.which(words[0]) is None:
        raise Error(f"{words[0]}: there is no such program; load the module of your MPI library, or leave "
                    "out ranks, hostfile and launcher to compute in one process", 127)
    if os.path.basename(words[0]) == "srun":
        if hostfile is not None:
            raise UsageError("hostfile: srun takes the hosts of its allocation; leave it out", 2)
        return words + (["--mpi=pmix"] if len(words) == 1 else []) + (["-n", str(ranks)] if ranks else [])
    if ranks:
        words += ["-np", str(ranks)]
    if hostfile is not None:
        words += ["--hostfile", os.fspath(hostfile), "--bind-to", "none"]
    return words


def flags(options: Dict[str, object]) -> List[str]:
    """The flags of the program: max_sweeps=40 is --max-sweeps=40, check=True is --check, None is left out."""
    words = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        flag = "--" + name.replace("_", "-")
        words.append(flag if value is True else f"{flag}={value}")
    return words


class Guard:
    """The process that runs a command, ends it, and deletes a folder (_guard.py). It does so at the end of a
    with statement, and where Python dies."""

    def __init__(self, folder: str) -> None:
        reader, writer = os.pipe()
        try:
            self.process = subprocess.Popen(
                [sys.executable or "python3", "-I", "-S", _guard.__file__, folder, str(writer)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=[writer],
                start_new_session=True, text=True, encoding="utf-8", errors="replace", env=environment())
        except BaseException:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        self.status = open(reader, encoding="ascii")

    def __enter__(self) -> "Guard":
        return self

    def __exit__(self, *_: object) -> None:
        # A second Ctrl-C waits too: nothing must be left.
        while True:
            try:
                with contextlib.suppress(BrokenPipeError):
                    self.process.stdin.close()
                for _ in self.process.stdout:  # so that nobody waits for room in the pipe
                    pass
                self.process.wait()
                self.process.stdout.close()
                self.status.close()
                return
            except KeyboardInterrupt:
                continue

    def run(self, command: Sequence[str], progress: Progress, names: Dict[str, str]) -> None:
        """Runs a command, and hands on what it prints, line by line: to stderr if progress is True, or to a
        function. It raises an Error for any exit code but 0, in whose message names stand for some paths."""
        last: Deque[str] = collections.deque(maxlen=50)
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
        for line in self.process.stdout:
            line = line.rstrip("\r\n")
            last.append(line)
            if progress is True:
                print(line, file=sys.stderr, flush=True)
            elif callable(progress):
                progress(line)
        code = self.status.readline()
        if not code:
            raise Error("the process that guards the run was ended", 128 - (self.process.wait() or -9), last)
        if int(code) != 0:
            raise failure(last, int(code), names)


def failure(lines: Sequence[str], code: int, names: Dict[str, str]) -> Error:
    """The exception for a run that has printed these lines. Its message is the program's line, if there is
    one; otherwise the exit code is the launcher's."""
    for line in reversed(lines):
        if line.startswith("jmpi: "):
            message = line[len("jmpi: "):]
            for path, name in names.items():
                message = message.replace(path, name)
            return error(message, code, lines)
    said = [line.strip() for line in lines if line.strip(" -")]
    return Error(f"the run ended with exit code {code}" + (": " + said[-1] if said else ""), code, lines)
