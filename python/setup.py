"""The version of the package is that of the program."""

import pathlib
import re

from setuptools import setup

source = pathlib.Path(__file__).resolve().parent.parent / "cmd" / "jmpi" / "version.go"
setup(version=re.search(r'Version += "([^"]+)"', source.read_text(encoding="utf-8")).group(1))
