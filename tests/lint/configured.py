# SPDX-License-Identifier: BSD-2-Clause
"""configured.py - a build directory that was configured before a Fortran compiler was installed gets its
targets when it is configured again.

Usage: configured.py SOURCE WORK
"""
import os
import shutil
import subprocess
import sys

SOURCE, WORK = sys.argv[1:3]

if not shutil.which("gfortran"):
    print("no gfortran here")
    sys.exit(1 if os.environ.get("CI") == "true" else 77)
shutil.rmtree(WORK, ignore_errors=True)
# As cmake leaves it where there is none.
configure = ["cmake", "-G", "Ninja", "-S", SOURCE, "-B", WORK, "-DSP_TRACE=OFF", "-DSP_TESTS=OFF", "-DCMAKE_Fortran_COMPILER=NOTFOUND"]
subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
targets = subprocess.run(["cmake", "--build", WORK, "--target", "help"], check=True, capture_output=True, text=True).stdout
if "heat_fortran" not in targets:
    sys.exit("the Fortran compiler that is here now was not looked for: there is no target heat_fortran")
