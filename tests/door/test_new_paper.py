"""`karat new-paper` writes a package that works as it is."""

import pytest


@pytest.mark.slow
def test_a_new_package_is_listed_checked_and_keeps_the_contract(site, install):
    done = site.karat("new-paper", "my-paper")
    assert (done.returncode, done.stderr) == (0, "")
    home = site.folder / "karat-my-paper"
    assert 'my-paper = "karat_my_paper"' in (home / "pyproject.toml").read_text()
    assert "karat check my-paper.thm1 --scale tiny" in (home / "README.md").read_text()
    site.paths.append(install(home, site.folder / "lib"))
    assert "my-paper\tThe title" in site.karat("papers").stdout
    checked = site.karat("check", "my-paper.thm1", "--scale", "tiny", "--workers", "0")
    assert "verdict    holds" in checked.stdout, checked.stderr
    tests = site.python("-m", "pytest", "-q", "-p", "no:cacheprovider", home / "tests")
    assert tests.returncode == 0, tests.stdout
    again = site.karat("new-paper", "my-paper")
    assert again.returncode == 2
    assert "belongs to the paper in `karat_my_paper`" in again.stderr


@pytest.mark.parametrize("key", ["My", "a/b", "1a", "../up", "index", "benign", "a" * 41, "a b"])
def test_bad_keys_get_one_line(key, karat, tmp_path):
    done = karat("new-paper", key)
    assert done.code == 2
    assert "the key " in done.complaint()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(karat, tmp_path):
    (tmp_path / "karat-mine").mkdir()
    done = karat("new-paper", "mine")
    assert done.code == 2
    assert done.complaint() == "karat-mine exists already; move it away or choose another --folder."
    assert list((tmp_path / "karat-mine").iterdir()) == []
