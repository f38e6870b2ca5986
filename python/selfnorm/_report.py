"""The page of a run."""

import html
import os
import shutil
import subprocess
import tempfile

from . import _core


class Report:
    """One HTML file without server or network; in a notebook it shows itself."""

    def __init__(self, page):
        self.html = page

    def _repr_html_(self):
        return f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="800" style="border:0"></iframe>'

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)
        return self


def report(*runs, program="selfnorm"):
    """The report of a run directory, or of several compared (for which the program is needed)."""
    runs = [os.fspath(run) for run in runs]
    if not runs:
        raise _core.Error("found no run; expected a run directory of selfnorm train, or several")
    page = runs[0] if runs[0].endswith(".html") else os.path.join(runs[0], "report.html")
    if len(runs) == 1 and os.path.exists(page):
        with open(page, encoding="utf-8") as file:
            return Report(file.read())
    found = shutil.which(program)
    if found is None:
        raise _core.Error(f"{runs[0]}: found no report.html, and no program {program} to make one; install it (make install) or give "
                          "the directory of one finished run")
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "report.html")
        done = subprocess.run([found, "report", *runs, "--out", out], capture_output=True, text=True)
        if done.returncode:
            raise _core.Error(done.stderr.strip())
        with open(out, encoding="utf-8") as file:
            return Report(file.read())
