"""Jobs and run folders of this service that belong to no run of its database, as after a restore."""
