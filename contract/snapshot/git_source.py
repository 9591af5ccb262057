"""Where the tree of a snapshot comes from in git."""

from pydantic import Field

from contract.described_model import DescribedModel

MAX_COUNT = 1_000_000
NO_CONTROL = r"^[^\x00-\x1f\x7f-\x9f]*$"


class GitSource(DescribedModel):
    """The commit and the changes beside it."""

    commit: str | None = Field(default=None, pattern=r"^[0-9a-f]{40,64}$", examples=["5f2c" * 10])
    """The commit that was checked out; null before the first commit."""
    branch: str | None = Field(default=None, max_length=250, pattern=NO_CONTROL, examples=["main"])
    """The branch that was checked out; null for a commit without a branch."""
    staged: int = Field(default=0, ge=0, le=MAX_COUNT, examples=[1])
    """Number of files with staged changes."""
    unstaged: int = Field(default=0, ge=0, le=MAX_COUNT, examples=[2])
    """Number of files with changes that are not staged, deleted ones too."""
    untracked: int = Field(default=0, ge=0, le=MAX_COUNT, examples=[1])
    """Number of files and folders that git does not track and does not ignore."""
    unpushed: int | None = Field(default=None, ge=0, le=MAX_COUNT, examples=[3])
    """Number of commits that the upstream branch lacks; null without an upstream branch."""

    @property
    def is_dirty(self) -> bool:
        """Whether the tree differs from the commit."""
        return bool(self.staged or self.unstaged or self.untracked)
