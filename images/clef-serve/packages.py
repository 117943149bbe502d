"""clef-serve's packages on a volume, so that a pod starts without installing anything.

    packages.py fill VOLUME NAME REQUIREMENTS   the Job: VOLUME/NAME is there afterwards, whole
    packages.py run VOLUME NAME PROGRAM         the pod: becomes PROGRAM, which uses VOLUME/NAME

pip fills a folder under a temporary name on the same volume, and a rename gives it NAME: whatever is killed
when, NAME is complete or absent. Whoever fills or uses a folder holds a shared lock (flock) on the file .lock in
it. The kernel drops the lock with its last process, however that ends, so that what nobody holds belongs to
nobody. Preparers never wait for each other: the second of two equal ones throws its own folder away.
"""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

# Complete folders that stay: the new one, and the one before it for a way back.
KEPT = 2

# A folder that was asked for within this time stays too: its pod may not have started yet.
FRESH_SECONDS = 3600

# Signals that end a Job before it is done.
ENDING = {signal.SIGTERM, signal.SIGINT}

# Nothing else on the volume is ever touched.
COMPLETE = re.compile(r"packages-[0-9a-f]{16}")
FILLING = ".packages-filling-"
DELETING = ".packages-deleting-"


def fill(volume, name, requirements):
    """Makes VOLUME/NAME complete, then deletes what nobody needs any more."""
    if not COMPLETE.fullmatch(name):
        sys.exit(f"NAME = {name}: is no name of a folder of packages ({COMPLETE.pattern})")
    folder = volume / name
    there = asked_for(folder)
    if not there:
        refuse_foreign(folder)
        refuse_empty(requirements)
    # Before the work: it makes room for it.
    clean(volume)
    if there:
        print(f"{folder}: is there already", flush=True)
        return
    install(volume, folder, requirements)
    clean(volume)


def refuse_foreign(folder):
    """Ends when something else has the folder's name: pip's minutes would be for nothing, a rename replaces none of it."""
    if folder.is_symlink():
        what = f"a link to {os.readlink(folder)}"
    elif not folder.exists() or (folder / ".lock").exists():
        return
    else:
        what = "a folder without .lock" if folder.is_dir() else "a file"
    sys.exit(f"{folder}: is {what}, no folder of packages; move it away or delete it, then run `pulumi up --refresh`")


def refuse_empty(requirements):
    """Ends when a lock names nothing: pip would succeed, and the pod fail."""
    lines = Path(requirements).read_text().splitlines()
    if all(line.strip() == "" or line.lstrip().startswith("#") for line in lines):
        sys.exit(f"{requirements}: names no package; lock requirements.in into it again (docs/cold-start.md, The lock)")


def install(volume, folder, requirements):
    """Fills a temporary folder with pip and gives it its name. Nothing of it stays when that fails."""
    work, lock = new_folder(volume)
    try:
        temporary = work / ".tmp"
        temporary.mkdir()
        pip = [sys.executable, "-m", "pip", "install", "--no-input", "--no-cache-dir", "--progress-bar", "off"]
        pip += ["--disable-pip-version-check", "--require-hashes", "--target", str(work), "-r", requirements]
        # pip unpacks into TMPDIR and moves from there: on the volume itself that is a rename. It inherits the
        # lock, so that a pip that outlives this process still holds its folder.
        status = run_to_end(pip, {**os.environ, "TMPDIR": str(temporary)}, lock)
        if status != 0:
            sys.exit(f"{folder}: pip failed with exit code {status}, its reason is above; no such folder was made")
        shutil.rmtree(temporary)
        # The name must not reach the disk before the files do.
        os.sync()
        publish(work, folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        os.close(lock)


def run_to_end(command, env, lock):
    """The exit code of a program, which never outlives this function.

    A signal that came while the program is being started would leave it at work without anybody who knows of it; until
    then it has to wait.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)

    def unblock():
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    process = subprocess.Popen(command, env=env, pass_fds=[lock], preexec_fn=unblock)
    try:
        unblock()
        return process.wait()
    finally:
        process.kill()
        process.wait()


def publish(work, folder):
    """Gives a complete folder its name, unless another preparer was faster: its folder is as good."""
    os.utime(work / ".lock")
    try:
        os.rename(work, folder)
        print(f"{folder}: is complete", flush=True)
    except OSError:
        if not asked_for(folder):
            raise
        print(f"{folder}: another preparer was faster", flush=True)
    descriptor = os.open(folder.parent, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def new_folder(volume):
    """An empty folder with a temporary name, and the descriptor that holds it."""
    while True:
        work = volume / f"{FILLING}{uuid.uuid4().hex}"
        work.mkdir()
        try:
            (work / ".lock").touch()
        except FileNotFoundError:
            continue
        lock = hold(work, fcntl.LOCK_SH)
        # A cleaner can see the folder before it is held, and take it away.
        if lock is not None:
            return work, lock


def asked_for(folder):
    """Whether a folder exists; one that does counts as the newest from now on."""
    lock = hold(folder, fcntl.LOCK_SH)
    if lock is None:
        return False
    os.utime(folder / ".lock")
    os.close(lock)
    return True


def clean(volume):
    """Deletes what dead preparers left, and complete folders that are old and in nobody's use."""
    for folder in volume.iterdir():
        if folder.name.startswith(FILLING) or (COMPLETE.fullmatch(folder.name) and folder not in kept(volume)):
            retire(folder)
    for folder in volume.glob(f"{DELETING}*"):
        shutil.rmtree(folder, ignore_errors=True)


def retire(folder):
    """Takes a folder's name away if nobody holds it: deleting it takes time, and must not be seen half done."""
    lock = hold(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if lock is None:
        return
    # Nobody can begin to use it now; somebody may have asked for it since it was chosen.
    if folder not in kept(folder.parent):
        folder.rename(folder.with_name(f"{DELETING}{uuid.uuid4().hex}"))
    os.close(lock)


def kept(volume):
    """The complete folders that stay, whether in use or not."""
    ages = {folder: age(folder) for folder in volume.iterdir() if COMPLETE.fullmatch(folder.name)}
    newest = sorted(ages, key=ages.get)[:KEPT]
    return {folder for folder in ages if folder in newest or ages[folder] < FRESH_SECONDS}


def age(folder):
    """Seconds since a Job last asked for a complete folder; endless when it has just gone."""
    try:
        return time.time() - (folder / ".lock").stat().st_mtime
    except FileNotFoundError:
        return float("inf")


def hold(folder, mode):
    """Locks a folder until the descriptor that it returns is closed.

    None when the folder is not there, or when LOCK_NB is asked for and somebody holds it.
    """
    path = folder / ".lock"
    try:
        # An exclusive lock needs write access on NFS; a pod's mount is read-only.
        lock = os.open(path, os.O_RDWR | os.O_CREAT if mode & fcntl.LOCK_EX else os.O_RDONLY, 0o644)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(lock, mode)
        # Whoever waited for a cleaner may hold what has lost its name.
        if os.path.samestat(os.fstat(lock), os.stat(path)):
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(lock)
    return None


def run(volume, name, program):
    """Becomes PROGRAM, which holds VOLUME/NAME for its whole life and finds it by PYTHONPATH."""
    lock = hold(volume / name, fcntl.LOCK_SH)
    if lock is None:
        refuse_foreign(volume / name)
        sys.exit(f"{volume / name}: does not exist; the Job that fills it runs in `pulumi up --refresh`")
    os.set_inheritable(lock, True)
    os.execv(sys.executable, [sys.executable, program])


def leave(number, _frame):
    print(f"ended by {signal.Signals(number).name}; no unfinished folder stays", file=sys.stderr, flush=True)
    sys.exit(128 + number)


def main(arguments):
    commands = {"fill": fill, "run": run}
    if len(arguments) != 4 or arguments[0] not in commands:
        sys.exit("usage: packages.py fill VOLUME NAME REQUIREMENTS | run VOLUME NAME PROGRAM")
    command, volume, name, file = arguments
    # As PID 1 it would ignore SIGTERM; leaving this way ends pip and removes the temporary folder.
    for number in ENDING:
        signal.signal(number, leave)
    try:
        commands[command](Path(volume), name, file)
    except OSError as error:
        # Such as a full volume, one that is not writable, or one whose file system has no locks.
        sys.exit(f"{command} {Path(volume) / name}: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
