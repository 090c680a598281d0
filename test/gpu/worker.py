"""A process that checks and times kernels, watched by one that starts it again without the kernel it hung or died on, so that one bad
kernel costs one row.

The worker is started with the number of its first job and the names of the kernels to leave out. It prints JSON lines: `job` (the one it
begins), `trying` (a kernel), `result` (a job is done), and whatever else its watcher wants to know.
"""

import json
import queue
import subprocess
import threading
import time

# Without an answer for so long, a kernel is taken to hang.
SECONDS = 60
# After so many bad kernels the rest is not worth the time.
MOST_BAD = 12


def say(**line):
    """A line of the worker's."""
    print(json.dumps(line), flush=True)


def _lines_of(process):
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


def watch(command, deadline, heard):
    """Runs all jobs of a worker; `heard` gets each of its lines. The kernels that hung or crashed."""
    bad, job, done = [], 0, False
    while not done and time.time() < deadline and len(bad) < MOST_BAD:
        process = subprocess.Popen([*command, str(job), *bad], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines, trying, tail = _lines_of(process), None, []
        while True:
            try:
                line = lines.get(timeout=min(SECONDS, max(1, deadline - time.time())))
            except queue.Empty:
                tail.append("no answer")
                process.kill()
                break
            if line is None:
                break
            try:
                said = json.loads(line)
            except ValueError:
                tail = tail[-8:] + [line.rstrip()]
                continue
            job, trying = said.get("job", job), said.get("trying", trying)
            if "result" in said:
                # What dies now has not got to a kernel yet.
                trying, job = None, job + 1
            heard(said)
        done = process.wait() == 0
        if not done:
            print("FAILED", trying, *tail, sep="\n  ", flush=True)
            if trying is None:
                break
            bad.append(trying)
    return bad
