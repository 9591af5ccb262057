"""The shell's completion of the command, as bash asks for it."""

import pytest

from tests.testing.command import Call


@pytest.mark.parametrize(
    ("words", "offered"),
    [("bigbatch re", ["retry", "rerun", "rename", "restore"]), ("bigbatch schedule pa", ["pause"])],
)
def test_the_shell_completes_commands(
    call: Call, monkeypatch: pytest.MonkeyPatch, words: str, offered: list[str]
) -> None:
    monkeypatch.setenv("_BIGBATCH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    reported = call()
    assert (reported.code, reported.out.split()) == (0, offered)


def test_bash_gets_its_script_of_completion(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_BIGBATCH_COMPLETE", "source_bash")
    assert "complete -o default -F _bigbatch_completion bigbatch" in call().out
