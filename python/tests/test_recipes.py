"""The recipe for Spack and the definition for Apptainer, as far as that can be seen without these."""

import ast
import pathlib
import re
import subprocess
import types

from conftest import ROOT

REPOSITORY = ROOT / "scripts" / "spack" / "spack_repo" / "jmpi"
RECIPE = REPOSITORY / "packages" / "jmpi" / "package.py"
DEFINITION = ROOT / "examples" / "jmpi.def"


class Recorder:
    """Stands for what Spack gives to a recipe, and writes down the calls."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        return lambda *args, **kwargs: self.calls.append((name, *args))


def load(recorder):
    """The recipe's class, with the names that Spack would have given to the module."""
    source = RECIPE.read_text(encoding="utf-8")
    tree = ast.parse(source)
    tree.body = [node for node in tree.body
                 if not (isinstance(node, ast.ImportFrom) and node.module.startswith("spack"))]
    names = {name: getattr(recorder, name) for name in ("license", "version", "depends_on", "make")}
    names.update(Package=object, __file__=str(RECIPE), join_path=lambda *parts: "/".join(parts),
                 Executable=lambda path: lambda *args: recorder.calls.append((str(path), *args)))
    exec(compile(tree, RECIPE, "exec"), names)
    return names["Jmpi"]


def test_the_recipe_builds_and_installs():
    recorder = Recorder()
    recipe = load(recorder)
    directives, recorder.calls = recorder.calls, []
    needs = {call[1] for call in directives if call[0] == "depends_on"}
    assert {"mpi", "openblas", "c", "gmake", "pkgconfig"} < needs
    go = re.search(r"^go ([0-9.]+)\.[0-9]+$", (ROOT / "go.mod").read_text(), re.M)[1]
    assert f"go@{go}:" in needs
    assert recipe.git == ROOT.as_uri()

    recipe().install(None, "/opt/it")
    (script, *build), (name, target, prefix) = recorder.calls
    assert (ROOT / script).is_file() and build[:2] == ["go", "build"] and (ROOT / build[-1]).is_dir()
    dry = subprocess.run([name, "-n", target, prefix, f"PROGRAM={build[-2]}"], cwd=ROOT, text=True,
                         check=True, capture_output=True).stdout
    for file in recipe.sanity_check_is_file:
        assert f'"{pathlib.Path("/opt/it", file).parent}' in dry, dry


def test_the_recipe_sets_what_the_build_reads():
    recipe = load(Recorder())
    recorder, package = Recorder(), recipe()
    package.spec = {"mpi": types.SimpleNamespace(mpicc="/opt/mpi/bin/mpicc")}
    package.stage = types.SimpleNamespace(path="/stage")
    package.setup_build_environment(recorder)
    values = {name: value for _, name, value in recorder.calls}
    assert values["MPICC"] == "/opt/mpi/bin/mpicc" and values["GOCACHE"].startswith("/stage/")
    assert "${MPICC:-" in (ROOT / "scripts" / "mpiflags.sh").read_text()


def test_the_repository_has_the_form_that_spack_reads():
    text = (REPOSITORY / "repo.yaml").read_text()
    assert f"namespace: {REPOSITORY.name}\n" in text and "api: v2." in text
    assert REPOSITORY.parent.name == "spack_repo"


def test_the_definition_is_made_of_shell_that_parses():
    text = DEFINITION.read_text(encoding="utf-8")
    stages = re.split(r"^Bootstrap: ", text, flags=re.M)[1:]
    assert [re.search(r"^Stage: (\w+)", stage, re.M)[1] for stage in stages] == ["build", "final"]
    sections = re.findall(r"^%(\w+)[^\n]*\n((?:    [^\n]*\n|\n)*)", text, re.M)
    scripts = [body for name, body in sections if name in ("post", "test", "runscript")]
    assert len(scripts) == 4
    for body in scripts:
        subprocess.run(["sh", "-n"], input=body, text=True, check=True)
    make = re.search(r"make install DESTDIR=(\S+) PREFIX=(\S+)", text)
    assert f"    {make[1]}{make[2]} " in text.split("%files from build\n")[1]
