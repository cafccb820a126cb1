"""patiently.py PROGRAM.py WORDS: a program in Python, whose pauses last until the file $PATIENT_UNTIL is there, if it can be
resized; else it never pauses."""

import os
import runpy
import sys
import time

UNTIL = os.environ.get("PATIENT_UNTIL") if os.environ.get("DUCTILE_MANAGER") else None
pause = time.sleep


def patient(seconds):
    end = time.monotonic() + seconds
    while UNTIL and time.monotonic() < end and not os.path.exists(UNTIL):
        pause(0.02)


time.sleep = patient
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
