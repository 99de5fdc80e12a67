"""Runs a command and sees to it that nothing is left of it. A program of its own, which imports no package.

    python _guard.py FOLDER COMMAND...

The command gets a session of its own. It is ended when this program's standard input ends, which is the case
when its caller says so, and when the caller has died, however. FOLDER is deleted then. What the command has
left running when it ends is ended too. The exit code is that of the command, or 128 + N if signal N ended it.
"""

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


def main() -> int:
    folder, line = sys.argv[1], sys.argv[2:]
    try:
        command = subprocess.Popen(line, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        print(f"jmpi: {line[0]}: {error.strerror}", file=sys.stderr)
        return 127
    asked = threading.Event()

    def listen() -> None:
        try:
            while os.read(0, 1):
                pass
        except OSError:
            pass
        asked.set()
        stop(command)

    listener = threading.Thread(target=listen, daemon=True)
    # A signal to this program is one to the run.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: command.send_signal(signal.SIGTERM))
    listener.start()
    code = command.wait()
    if asked.is_set():
        listener.join()
        shutil.rmtree(folder, ignore_errors=True)
    else:
        sweep(command.pid)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
