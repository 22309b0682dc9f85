"""The example paper outside karat works everywhere a paper of karat does, its workers included."""

import json
import shutil
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "karat-tsipras2019"
ASK = """
import karat
from karat.lab import Dask

if __name__ == "__main__":
    chosen = {chosen}
    claim = karat.check("tsipras2019.sec2.1.average", scale="tiny", seeds=2, **chosen)
    print(claim.measured, claim.seeds)
"""


@pytest.fixture(scope="module")
def lib(tmp_path_factory, install):
    """A folder into which the example was installed as its pyproject.toml says."""
    folder = tmp_path_factory.mktemp("example")
    built = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    shutil.copytree(EXAMPLE, folder / "project", ignore=built)  # pip builds beside the source
    return install(folder / "project", folder / "lib")


@pytest.fixture
def example(site, lib):
    site.paths.append(lib)
    return site


@pytest.mark.slow
def test_it_is_listed(example):
    papers = {paper["key"]: paper for paper in json.loads(example.karat("papers", "--json").stdout)}
    assert list(papers)[-1] == "tsipras2019"
    assert papers["tsipras2019"]["executable"] == 7
    claims = example.karat("claims", "--paper", "tsipras2019").stdout
    assert claims.count("executable") == 7


@pytest.mark.slow
def test_it_is_reproduced_reported_and_shown(example):
    done = example.karat("reproduce", "--paper", "tsipras2019", "--scale", "tiny", "--workers", "1", "--json")
    assert done.returncode == 0, done.stderr
    verdicts = {claim["id"]: claim["verdict"] for claim in json.loads(done.stdout)["claims"]}
    assert len(verdicts) == 7
    assert set(verdicts.values()) == {"holds"}
    page = (example.folder / "report" / "tsipras2019.html").read_text(encoding="utf-8")
    assert page.count("<img") == 3  # seven values in two figures, four in one: the default ones
    assert "tsipras2019.html" in (example.folder / "report" / "index.html").read_text(encoding="utf-8")
    checked = example.karat("check", "tsipras2019.thm2.1", "--scale", "tiny", "--workers", "1", "--json")
    assert json.loads(checked.stdout)["measured"] == pytest.approx(1.0)
    shown = example.karat("show", "tsipras2019.thm2.1")
    assert "karat_tsipras2019/checks.py:" in shown.stdout
    sweep = ("sweep", "tsipras2019.given", "--scale", "tiny", "--seeds", "1", "--workers", "0", "--json")
    assert json.loads(example.karat(*sweep).stdout)["planned"] == 3


@pytest.mark.slow
def test_workers_and_dask_give_the_numbers_of_this_process(example):
    pytest.importorskip("distributed")
    answers = []
    for index, chosen in enumerate(['{"workers": 0}', '{"workers": 1}', '{"engine": Dask(workers=1)}']):
        file = example.folder / f"ask{index}.py"
        file.write_text(ASK.format(chosen=chosen))
        done = example.python(file, KARAT_STORE=str(example.folder / f"store{index}.sqlite"))
        assert done.returncode == 0, done.stderr
        answers.append(done.stdout)
    assert len(set(answers)) == 1


@pytest.mark.slow
def test_it_keeps_the_contract_and_its_own_tests_pass(example):
    done = example.karat("contract", "tsipras2019")
    assert done.returncode == 0, done.stdout
    assert "`tsipras2019` keeps the contract." in done.stdout
    tests = example.python("-m", "pytest", "-q", "-p", "no:cacheprovider", EXAMPLE / "tests")
    assert tests.returncode == 0, tests.stdout
    named = example.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", "karat.contract")
    assert "2 passed" in named.stdout, named.stdout


CODE = """
from karat.study.registry import EXPERIMENTS
from karat.study import source
experiment = EXPERIMENTS["mine.noise"]
print(source.source_hash(experiment), len(source._closure(source.source_modules(experiment))))
"""


@pytest.mark.slow
def test_the_source_hash_covers_the_files_of_an_installed_package_and_no_library_beside_it(site):
    home = site.package("mine")
    (site.folder / "torch_beside").mkdir()
    (site.folder / "torch_beside" / "__init__.py").write_text("X = 1\n")
    text = (home / "experiments.py").read_text()
    (home / "experiments.py").write_text(text.replace("import torch\n", "import torch, torch_beside\n"))
    first = site.python("-c", CODE).stdout
    (site.folder / "torch_beside" / "__init__.py").write_text("X = 2\n")
    assert site.python("-c", CODE).stdout == first
    with (home / "experiments.py").open("a") as stream:
        stream.write("# other text\n")
    assert site.python("-c", CODE).stdout != first
