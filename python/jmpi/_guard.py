"""Runs a command and sees to it that nothing is left of it. A program of its own, which imports no package.

    python _guard.py FOLDER STATUS

It reads a command from its standard input, one line with a JSON list, and writes the exit code to the
file descriptor STATUS, 128 + N if signal N has ended the command. The command gets a session of its own. What
it has left running when it ends is ended.

The end of the standard input is the end of all: its caller wants no more, or has died, however. The command
is ended then, if it still runs, and FOLDER is deleted.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

# GRACE is what a run gets to end by itself. jmpi takes 5 s at most, and launchers a little more.
GRACE = 10.0


def in_session(session: int) -> list:
    """The processes of a session that have not ended."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # The name of the program, in parentheses, may hold anything.
                state, _, _, its_session = file.read().rpartition(b")")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if int(its_session) == session and state not in (b"Z", b"X"):
            found.append(int(name))
    return found


def send(number: int, session: int) -> None:
    """Sends a signal to all processes of a session."""
    for process in in_session(session):
        try:
            os.kill(process, number)
        except OSError:
            pass


def gone(session: int, seconds: float) -> bool:
    """Waits until no process of a session is left."""
    end = time.monotonic() + seconds
    while in_session(session):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def stop(command: subprocess.Popen) -> None:
    """Ends a command: its leader first, which is the launcher, and ends its ranks."""
    try:
        command.send_signal(signal.SIGTERM)
        command.wait(GRACE)
    except (OSError, subprocess.TimeoutExpired):
        pass
    sweep(command.pid)


def sweep(session: int) -> None:
    """Ends what is left of a session."""
    if gone(session, 0):
        return
    send(signal.SIGTERM, session)
    if not gone(session, GRACE / 2):
        send(signal.SIGKILL, session)
        gone(session, GRACE / 2)


def main() -> None:
    folder, status = sys.argv[1], int(sys.argv[2])
    # A signal to this program is one to the command. Meanwhile there is nothing to end.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    line = sys.stdin.buffer.readline()
    if line.endswith(b"\n"):
        run(json.loads(line), status)
    shutil.rmtree(folder, ignore_errors=True)


def run(line: list, status: int) -> None:
    """Runs a command, tells its exit code, and waits for the end of the standard input."""
    asked = threading.Event()

    def listen(command: subprocess.Popen) -> None:
        while sys.stdin.buffer.read(1):
            pass
        asked.set()
        stop(command)

    try:
        command = subprocess.Popen(line, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        print(f"jmpi: {line[0]}: {error.strerror}", file=sys.stderr, flush=True)
        code, listener = 127, threading.Thread(target=sys.stdin.buffer.read)
        listener.start()
    else:
        listener = threading.Thread(target=listen, args=[command])
        listener.start()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: command.send_signal(signal.SIGTERM))
        code = command.wait()
        if not asked.is_set():
            sweep(command.pid)
    # What is printed ends here.
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    try:
        os.write(status, b"%d\n" % (code if code >= 0 else 128 - code))
        os.close(status)
    except OSError:  # nobody is there
        pass
    listener.join()


if __name__ == "__main__":
    main()
