"""Whether an attempt has the data of the checkpoint from which it resumes."""

from trainers.checkpoints.checkpoint_directory import Manifest
from trainers.replicas.data_digest import DataDigest, differences


def check_same_data(manifest: Manifest, data: DataDigest, *, accepts_new: bool) -> list[str]:
    """Return a note if the data are others and the run accepts them; else raise ValueError.

    The checkpoints of earlier versions have no digest of their data: any data are accepted.
    """
    saved = manifest.about.get("data")
    if saved is None or not (found := list(differences(saved, data))):
        return []
    message = f"the data are not those of the checkpoint at step {manifest.step}: {'; '.join(found)}"
    if accepts_new:
        return [f"{message}; checkpoint.accept_new_data allows it"]
    raise ValueError(
        f"{message}. Held-out samples may be among those that trained already. Restore the data, or make the function "
        "of the data return the same sets in every process; if the data are meant to change, retry the run with "
        "--accept-new-data, which sets checkpoint.accept_new_data"
    )
