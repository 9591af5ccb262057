"""The pages of the dashboard over the seeded rows, for tests of every page."""

EVERY_PANEL = "&".join(f"panel=kind%3D{kind}" for kind in ("curves", "scatter", "box", "bars", "parallel"))

# path with the ids of the seeded rows, and a text that is there once the page is complete
PAGES = {
    "experiments": ("/", "torus on four nodes"),
    "experiment": ("/experiments/{grid}", "learning rate against batch size"),
    "curves": ("/experiments/{grid}?tab=curves", "learning rate against batch size"),
    "run": ("/runs/{growing}", "Training loss"),
    "failed run": ("/runs/{failed}", "FloatingPointError"),
    "system of a run": ("/runs/{measured}?tab=system", "GPUs, busy"),
    "runs": ("/runs", "ago"),
    "groups": ("/runs?group=batch&open=batch+%3D+256", "± "),
    "compare": ("/compare?runs=5,6,7", "Best values"),
    "compare in every picture": (f"/compare?runs=5,6,7&{EVERY_PANEL}", "Parallel coordinates"),
    "new": ("/new", "Submit"),
    "editor": ("/new?recipe=first-run", "Valid: 1 run"),
    "collectives": ("/collectives", "Collectives"),
    "plan": ("/plan", "Device-hours"),
    "clusters": ("/clusters", "slurm"),
    "reports": ("/reports", "New report"),
    "report": ("/reports/{report}", "The best runs"),
    "automation": ("/automation", "Automation"),
    "deleted": ("/deleted", "Deleted"),
    "missing": ("/nowhere", "This page does not exist"),
}
