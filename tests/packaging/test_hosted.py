"""What a hosted forge reads: workflows run targets that are there, on the systems of docs/systems.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import dualdbg
from tests.support import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
# A name in the table of systems -> its image.
IMAGES = {"bookworm": "debian:bookworm", "trixie": "debian:trixie", "forky/sid": "debian:sid"}
FROM_SOURCE = "3.11.7"  # the first row: no image has it


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def commands(workflow: Path) -> list[str]:
    jobs = read(workflow)["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_what_is_there(workflow: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = "\n".join(commands(workflow))
    targets = re.findall(r"\bmake ([a-z-]+)\b(?! \\)", text)
    assert targets
    assert [name for name in targets if not re.search(rf"^{name}:", makefile, re.M)] == []
    paths = re.findall(r"\b(?:scripts|tests)/[\w.-]+", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_job_may_do_what_it_says_and_ends(workflow: Path) -> None:
    content = read(workflow)
    assert content["permissions"] == {"contents": "read"}
    longest = 350 if "schedule" in content[True] else 120  # YAML 1.1 reads `on` as a boolean
    for name, job in content["jobs"].items():
        assert job["timeout-minutes"] <= longest, name
        assert job.get("permissions", {}) in ({}, {"id-token": "write"}), name


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_step_fails_with_any_part_of_a_pipe(workflow: Path) -> None:
    """Only where bash is asked for by name it runs with pipefail."""
    content = read(workflow)
    steps = [step for job in content["jobs"].values() for step in job["steps"]]
    assert content["defaults"] == {"run": {"shell": "bash"}}
    assert not [step for step in steps if "shell" in step]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_no_job_keeps_credentials(workflow: Path) -> None:
    steps = [step for job in read(workflow)["jobs"].values() for step in job["steps"]]
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts and all(step["with"]["persist-credentials"] is False for step in checkouts)


NOT_PINNED = {"pypa/gh-action-pypi-publish@release/v1"}  # release.yml says why


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_an_action_is_a_commit_whose_version_is_told(workflow: Path) -> None:
    """A tag can be moved by who owns the action, a commit cannot."""
    used = re.findall(r"^ *- uses: (.*)$", workflow.read_text(encoding="utf-8"), re.M)
    assert used
    pinned = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [action for action in used if not pinned.fullmatch(action)] == sorted(NOT_PINNED & {*used})


def test_the_matrix_is_that_of_the_page() -> None:
    page = (ROOT / "docs/systems.md").read_text(encoding="utf-8").partition("\n## ")[0]
    rows = re.findall(
        r"^\| [^|]*?\(?(bookworm|trixie|forky/sid)\)? \| (3\.\d+)(\.\d+) \| \S+ \| (\w+) \|", page, re.M
    )
    assert len(rows) == len(re.findall(r"^\| \w", page, re.M)) - 1  # its head
    matrix = read(ROOT / ".github/workflows/ci.yml")["jobs"]["systems"]["strategy"]["matrix"]["include"]
    assert [(row["image"], row["version"], row["machine"]) for row in matrix] == [
        (IMAGES[name], version, machine)
        for name, version, patch, machine in rows
        if version + patch != FROM_SOURCE
    ]


def test_every_supported_python_is_checked() -> None:
    versions = read(ROOT / ".github/workflows/ci.yml")["jobs"]["check"]["strategy"]["matrix"]["python"]
    assert versions[0] == "3.10" and versions == [f"3.{minor}" for minor in range(10, 10 + len(versions))]


@pytest.mark.parametrize(
    "form", [form for form in FORMS if form.name != "config.yml"], ids=lambda path: path.name
)
def test_a_form_asks_for_something(form: Path) -> None:
    content = read(form)
    assert content["name"] and content["description"]
    needed = [field for field in content["body"] if field.get("validations", {}).get("required")]
    assert needed


def test_the_changelog_has_this_version() -> None:
    titles = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert titles[0] == "Unreleased"
    assert re.fullmatch(rf"{re.escape(dualdbg.__version__)}, \d{{4}}-\d\d-\d\d", titles[1])
