"""Run a script of Python 2 by Python 3, as far as `2to3` translates it: `python2.py SCRIPT …`.

The script and the modules that it imports from its folder are translated as they are loaded, the
files stay; `python` is this program for what it starts. What 2to3 does not know stays Python 3:
`/` of whole numbers, and that pipes bring bytes.
"""

import importlib.machinery
import importlib.util
import os
import sys
import warnings

warnings.simplefilter("ignore", DeprecationWarning)
from lib2to3.refactor import RefactoringTool, get_fixers_from_package  # noqa: E402

#: A folder in which `python` is this program.
FOLDER = "/usr/local/lib/python2"


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a file of Python 2."""

    tool = RefactoringTool(get_fixers_from_package("lib2to3.fixes"))

    def get_code(self, fullname):
        """Compile the translated source; there is no byte code of it."""
        path = self.get_filename(fullname)
        text = importlib.util.decode_source(self.get_data(path))
        return self.source_to_code(str(self.tool.refactor_string(f"{text}\n", path)), path)


def main(words):
    """Run the script as `__main__`."""
    if not words or words[0].startswith("-"):
        sys.exit("python2: name a script: python2 SCRIPT …; options and -c are those of python3")
    path = os.path.abspath(words[0])
    sys.argv, sys.path[0] = words, os.path.dirname(path)
    os.environ["PATH"] = f"{FOLDER}:{os.environ['PATH']}"
    hook = importlib.machinery.FileFinder.path_hook((Loader, [".py"]))
    sys.path_importer_cache[sys.path[0]] = hook(sys.path[0])
    loader = Loader("__main__", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("__main__", loader))
    sys.modules["__main__"] = module
    loader.exec_module(module)


if __name__ == "__main__":
    main(sys.argv[1:])
