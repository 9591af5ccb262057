-- what the 41 migrations before the first release made on SQLite
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE artifacts (
    run_id INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    holder_id INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    size_bytes BIGINT NOT NULL,
    files INTEGER NOT NULL,
    sha256 VARCHAR NOT NULL,
    created_at DATETIME NOT NULL,
    removed_at DATETIME,
    removed_because VARCHAR,
    has_retention BOOLEAN NOT NULL,
    CONSTRAINT pk_artifacts PRIMARY KEY (run_id, attempt, name),
    CONSTRAINT fk_artifacts_run_id FOREIGN KEY(run_id) REFERENCES runs (id)
) WITHOUT ROWID;
CREATE TABLE call_counts (
    cluster VARCHAR NOT NULL,
    command VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL,
    count BIGINT NOT NULL,
    seconds DOUBLE NOT NULL,
    CONSTRAINT pk_call_counts PRIMARY KEY (cluster, command, outcome)
);
CREATE TABLE call_kinds (
    cluster VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    reserve INTEGER NOT NULL,
    at DOUBLE NOT NULL,
    CONSTRAINT pk_call_kinds PRIMARY KEY (cluster, kind)
);
CREATE TABLE call_slots (
    cluster VARCHAR NOT NULL,
    slot INTEGER NOT NULL,
    at DOUBLE NOT NULL,
    kind VARCHAR DEFAULT '' NOT NULL,
    CONSTRAINT pk_call_slots PRIMARY KEY (cluster, slot)
);
CREATE TABLE cell_blocks (
    series_id INTEGER NOT NULL,
    level INTEGER NOT NULL,
    block INTEGER NOT NULL,
    data BLOB NOT NULL,
    CONSTRAINT pk_cell_blocks PRIMARY KEY (series_id, level, block),
    CONSTRAINT fk_cell_blocks_series_id FOREIGN KEY(series_id) REFERENCES series (id)
) WITHOUT ROWID;
CREATE TABLE changes (
    experiment_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    version BIGINT NOT NULL,
    points_version BIGINT NOT NULL,
    details_version BIGINT NOT NULL,
    at DATETIME NOT NULL,
    CONSTRAINT pk_changes PRIMARY KEY (experiment_id, run_id)
) WITHOUT ROWID;
CREATE TABLE chunks (
    series_id INTEGER NOT NULL,
    first_step INTEGER NOT NULL,
    last_step INTEGER NOT NULL,
    count INTEGER NOT NULL,
    data BLOB NOT NULL,
    CONSTRAINT pk_chunks PRIMARY KEY (series_id, first_step),
    CONSTRAINT fk_chunks_series_id FOREIGN KEY(series_id) REFERENCES series (id)
) WITHOUT ROWID;
CREATE TABLE "clusters" (
    kind VARCHAR NOT NULL,
    asked_at DATETIME NOT NULL,
    error VARCHAR,
    report JSON,
    poll_after DATETIME,
    CONSTRAINT pk_clusters PRIMARY KEY (kind)
);
CREATE TABLE deliveries (
    id INTEGER NOT NULL,
    "key" VARCHAR NOT NULL,
    target_id INTEGER NOT NULL,
    target_name VARCHAR NOT NULL,
    experiment_id INTEGER,
    event VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    body JSON NOT NULL,
    status VARCHAR NOT NULL,
    attempts INTEGER NOT NULL,
    created_at DATETIME NOT NULL,
    not_before DATETIME NOT NULL,
    ended_at DATETIME,
    error VARCHAR,
    CONSTRAINT pk_deliveries PRIMARY KEY (id),
    CONSTRAINT uq_deliveries_key UNIQUE ("key")
);
CREATE TABLE divergences (
    run_id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    step INTEGER NOT NULL,
    at DATETIME NOT NULL,
    CONSTRAINT pk_divergences PRIMARY KEY (run_id),
    CONSTRAINT fk_divergences_run_id FOREIGN KEY(run_id) REFERENCES runs (id)
) WITHOUT ROWID;
CREATE TABLE ended_values (
    nonce VARCHAR NOT NULL,
    expires_at DATETIME NOT NULL,
    CONSTRAINT pk_ended_values PRIMARY KEY (nonce)
) WITHOUT ROWID;
CREATE TABLE experiment_fields (
    path VARCHAR NOT NULL,
    experiment_id INTEGER NOT NULL,
    number DOUBLE,
    text VARCHAR,
    CONSTRAINT pk_experiment_fields PRIMARY KEY (path, experiment_id),
    CONSTRAINT fk_experiment_fields_experiment_id FOREIGN KEY(experiment_id) REFERENCES experiments (id)
) WITHOUT ROWID;
CREATE TABLE experiment_tags (
    experiment_id INTEGER NOT NULL,
    tag VARCHAR NOT NULL,
    CONSTRAINT pk_experiment_tags PRIMARY KEY (experiment_id, tag),
    CONSTRAINT fk_experiment_tags_experiment_id FOREIGN KEY(experiment_id) REFERENCES experiments (id)
);
CREATE TABLE experiments (
    id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    spec JSON NOT NULL,
    created_at DATETIME NOT NULL,
    max_parallel INTEGER,
    "key" VARCHAR,
    pack INTEGER,
    notes VARCHAR DEFAULT '' NOT NULL,
    owner VARCHAR DEFAULT '' NOT NULL,
    project VARCHAR DEFAULT '' NOT NULL,
    origin_id INTEGER,
    added_points JSON,
    archived_at DATETIME,
    deleted_at DATETIME,
    table_base JSON,
    restorable_until DATETIME,
    objective JSON,
    CONSTRAINT pk_experiments PRIMARY KEY (id)
);
CREATE TABLE figures (
    name VARCHAR NOT NULL,
    run_id INTEGER NOT NULL,
    last_step INTEGER NOT NULL,
    last DOUBLE,
    size BIGINT NOT NULL,
    least DOUBLE,
    most DOUBLE,
    mean DOUBLE,
    not_finite VARCHAR,
    not_finite_from INTEGER,
    CONSTRAINT pk_figures PRIMARY KEY (name, run_id),
    CONSTRAINT fk_figures_run_id FOREIGN KEY(run_id) REFERENCES runs (id)
) WITHOUT ROWID;
CREATE TABLE file_hashes (
    path VARCHAR NOT NULL,
    size_bytes BIGINT NOT NULL,
    mtime_ns BIGINT NOT NULL,
    ctime_ns BIGINT NOT NULL,
    inode VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,
    used_at DATETIME NOT NULL,
    CONSTRAINT pk_file_hashes PRIMARY KEY (path)
) WITHOUT ROWID;
CREATE TABLE jobs (
    id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    cluster VARCHAR NOT NULL,
    array_task INTEGER,
    pack_member INTEGER,
    external_id VARCHAR,
    lease_renewed_at DATETIME NOT NULL,
    pending_reason VARCHAR,
    pending_detail VARCHAR,
    unknown_since DATETIME,
    observed_end JSON,
    observed_cause VARCHAR,
    observed_at DATETIME,
    is_gone BOOLEAN NOT NULL,
    reported_cause VARCHAR,
    hosts JSON NOT NULL,
    stop_requested_at DATETIME,
    kill_requested_at DATETIME,
    ended_at DATETIME,
    exit_cause VARCHAR,
    exit_reason JSON,
    exit_step INTEGER,
    given_up_at DATETIME,
    started_at DATETIME,
    clock_shift_s DOUBLE DEFAULT '0' NOT NULL,
    reached_step INTEGER,
    ran_s DOUBLE,
    CONSTRAINT pk_jobs PRIMARY KEY (id),
    CONSTRAINT fk_jobs_run_id FOREIGN KEY(run_id) REFERENCES runs (id),
    CONSTRAINT uq_jobs_run_id UNIQUE (run_id, attempt)
);
CREATE TABLE mirror_copies (
    run_id INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    store VARCHAR,
    place VARCHAR,
    due_at DATETIME NOT NULL,
    claims INTEGER NOT NULL,
    faults INTEGER NOT NULL,
    problem VARCHAR,
    copied_at DATETIME,
    manifest_sha256 VARCHAR,
    CONSTRAINT pk_mirror_copies PRIMARY KEY (run_id, attempt, name)
) WITHOUT ROWID;
CREATE TABLE "moves" (
    id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    old VARCHAR,
    new VARCHAR NOT NULL,
    at DATETIME NOT NULL,
    reason JSON,
    CONSTRAINT pk_moves PRIMARY KEY (id),
    CONSTRAINT fk_moves_run_id FOREIGN KEY(run_id) REFERENCES runs (id)
);
CREATE TABLE notify_rules (
    id INTEGER NOT NULL,
    target_id INTEGER NOT NULL,
    experiment_id INTEGER,
    owner VARCHAR,
    events JSON NOT NULL,
    created_at DATETIME NOT NULL,
    CONSTRAINT pk_notify_rules PRIMARY KEY (id),
    CONSTRAINT fk_notify_rules_target_id FOREIGN KEY(target_id) REFERENCES notify_targets (id),
    CONSTRAINT fk_notify_rules_experiment_id FOREIGN KEY(experiment_id) REFERENCES experiments (id)
);
CREATE TABLE notify_targets (
    id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    address VARCHAR NOT NULL,
    secret VARCHAR,
    owner VARCHAR DEFAULT '' NOT NULL,
    created_at DATETIME NOT NULL,
    delivered_at DATETIME,
    error VARCHAR,
    CONSTRAINT pk_notify_targets PRIMARY KEY (id),
    CONSTRAINT uq_notify_targets_name UNIQUE (name)
);
CREATE TABLE occurrences (
    id INTEGER NOT NULL,
    experiment_id INTEGER NOT NULL,
    event VARCHAR NOT NULL,
    run_id INTEGER,
    detail JSON NOT NULL,
    at DATETIME NOT NULL,
    CONSTRAINT pk_occurrences PRIMARY KEY (id)
);
CREATE TABLE point_writers (
    run_id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    stored INTEGER NOT NULL,
    CONSTRAINT pk_point_writers PRIMARY KEY (run_id, name),
    CONSTRAINT fk_point_writers_run_id FOREIGN KEY(run_id) REFERENCES runs (id)
);
CREATE TABLE report_blocks (
    id INTEGER NOT NULL,
    report_id INTEGER NOT NULL,
    place INTEGER NOT NULL,
    content JSON NOT NULL,
    CONSTRAINT pk_report_blocks PRIMARY KEY (id),
    CONSTRAINT fk_report_blocks_report_id FOREIGN KEY(report_id) REFERENCES reports (id)
);
CREATE TABLE reports (
    id INTEGER NOT NULL,
    title VARCHAR NOT NULL,
    owner VARCHAR DEFAULT '' NOT NULL,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL,
    deleted_at DATETIME,
    CONSTRAINT pk_reports PRIMARY KEY (id)
);
CREATE TABLE restarts (
    run_id INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    step INTEGER NOT NULL,
    lost_steps INTEGER NOT NULL,
    at DATETIME NOT NULL,
    CONSTRAINT pk_restarts PRIMARY KEY (run_id, attempt),
    CONSTRAINT fk_restarts_run_id FOREIGN KEY(run_id) REFERENCES runs (id)
);
CREATE TABLE run_fields (
    path VARCHAR NOT NULL,
    run_id INTEGER NOT NULL,
    number DOUBLE,
    text VARCHAR,
    CONSTRAINT pk_run_fields PRIMARY KEY (path, run_id),
    CONSTRAINT fk_run_fields_run_id FOREIGN KEY(run_id) REFERENCES runs (id)
) WITHOUT ROWID;
CREATE TABLE run_tags (
    run_id INTEGER NOT NULL,
    tag VARCHAR NOT NULL,
    CONSTRAINT pk_run_tags PRIMARY KEY (run_id, tag),
    CONSTRAINT fk_run_tags_run_id FOREIGN KEY(run_id) REFERENCES runs (id)
);
CREATE TABLE "runs" (
    id INTEGER NOT NULL,
    experiment_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    "key" VARCHAR NOT NULL,
    spec JSON NOT NULL,
    axis_values JSON NOT NULL,
    cluster VARCHAR NOT NULL,
    world INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    state VARCHAR NOT NULL,
    stop_requested_at DATETIME,
    attempt INTEGER NOT NULL,
    cursor BIGINT NOT NULL,
    step INTEGER NOT NULL,
    latest JSON NOT NULL,
    created_at DATETIME NOT NULL,
    moved_at DATETIME NOT NULL,
    started_at DATETIME,
    ended_at DATETIME,
    need VARCHAR NOT NULL,
    not_before DATETIME,
    excluded JSON NOT NULL,
    reason JSON,
    stop_source VARCHAR,
    current_job_id INTEGER,
    objective_value DOUBLE,
    points_removed_at DATETIME,
    history_removed_at DATETIME,
    queue VARCHAR NOT NULL,
    withdrawn INTEGER NOT NULL,
    rank_cursors JSON DEFAULT '{}' NOT NULL,
    code VARCHAR,
    notes VARCHAR DEFAULT '' NOT NULL,
    retries_after INTEGER DEFAULT '0' NOT NULL,
    archived_at DATETIME,
    deleted_at DATETIME,
    reuse VARCHAR,
    reuse_key VARCHAR,
    input_hashes JSON,
    taken_from INTEGER,
    step_id INTEGER,
    restorable_until DATETIME,
    unread JSON,
    ran_s DOUBLE,
    diverged JSON,
    left_out VARCHAR,
    CONSTRAINT pk_runs PRIMARY KEY (id),
    CONSTRAINT uq_runs_experiment_id UNIQUE (experiment_id, number),
    CONSTRAINT fk_runs_current_job_id FOREIGN KEY(current_job_id) REFERENCES jobs (id),
    CONSTRAINT fk_runs_experiment_id FOREIGN KEY(experiment_id) REFERENCES experiments (id),
    CONSTRAINT uq_runs_key UNIQUE ("key")
);
CREATE TABLE schedule_codes (
    schedule_id INTEGER NOT NULL,
    code VARCHAR NOT NULL,
    CONSTRAINT pk_schedule_codes PRIMARY KEY (schedule_id, code),
    CONSTRAINT fk_schedule_codes_schedule_id FOREIGN KEY(schedule_id) REFERENCES schedules (id)
) WITHOUT ROWID;
CREATE TABLE schedule_starts (
    schedule_id INTEGER NOT NULL,
    "key" VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    experiment_id INTEGER,
    message VARCHAR,
    at DATETIME NOT NULL,
    CONSTRAINT pk_schedule_starts PRIMARY KEY (schedule_id, "key"),
    CONSTRAINT fk_schedule_starts_schedule_id FOREIGN KEY(schedule_id) REFERENCES schedules (id)
);
CREATE TABLE schedules (
    id INTEGER NOT NULL,
    "key" VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    owner VARCHAR DEFAULT '' NOT NULL,
    spec JSON NOT NULL,
    cron VARCHAR,
    time_zone VARCHAR NOT NULL,
    path VARCHAR,
    missed VARCHAR NOT NULL,
    overlap VARCHAR NOT NULL,
    next_at DATETIME,
    version INTEGER NOT NULL,
    created_at DATETIME NOT NULL,
    paused_at DATETIME,
    CONSTRAINT pk_schedules PRIMARY KEY (id),
    CONSTRAINT uq_schedules_key UNIQUE ("key"),
    CONSTRAINT uq_schedules_name UNIQUE (name)
);
CREATE TABLE searches (
    id INTEGER NOT NULL,
    experiment_id INTEGER NOT NULL,
    step VARCHAR NOT NULL,
    spec JSON NOT NULL,
    base JSON NOT NULL,
    trials INTEGER NOT NULL,
    version INTEGER NOT NULL,
    created_at DATETIME NOT NULL,
    paused_at DATETIME,
    stop_requested_at DATETIME,
    ended_at DATETIME,
    end_cause VARCHAR,
    CONSTRAINT pk_searches PRIMARY KEY (id),
    CONSTRAINT fk_searches_experiment_id FOREIGN KEY(experiment_id) REFERENCES experiments (id),
    CONSTRAINT uq_searches_experiment_id UNIQUE (experiment_id, step)
);
CREATE TABLE series (
    id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    tail BLOB DEFAULT (x'') NOT NULL,
    first_step INTEGER,
    chunked_to INTEGER DEFAULT '-1' NOT NULL,
    open_chunk INTEGER,
    cell_width INTEGER DEFAULT '0' NOT NULL,
    CONSTRAINT pk_series PRIMARY KEY (id),
    CONSTRAINT fk_series_run_id FOREIGN KEY(run_id) REFERENCES runs (id),
    CONSTRAINT uq_series_run_id UNIQUE (run_id, name)
);
CREATE TABLE service (
    id INTEGER NOT NULL,
    identity VARCHAR NOT NULL,
    marks BIGINT DEFAULT '0' NOT NULL,
    experiments BIGINT DEFAULT '0' NOT NULL,
    runs BIGINT DEFAULT '0' NOT NULL,
    CONSTRAINT pk_service PRIMARY KEY (id)
);
CREATE TABLE silences (
    cluster VARCHAR NOT NULL,
    at DOUBLE NOT NULL,
    CONSTRAINT pk_silences PRIMARY KEY (cluster)
);
CREATE TABLE snapshots (
    hash VARCHAR NOT NULL,
    created_at DATETIME NOT NULL,
    used_at DATETIME NOT NULL,
    size BIGINT NOT NULL,
    files INTEGER NOT NULL,
    has_git BOOLEAN NOT NULL,
    "commit" VARCHAR,
    branch VARCHAR,
    staged INTEGER NOT NULL,
    unstaged INTEGER NOT NULL,
    untracked INTEGER NOT NULL,
    unpushed INTEGER,
    CONSTRAINT pk_snapshots PRIMARY KEY (hash)
);
CREATE TABLE step_codes (
    step_id INTEGER NOT NULL,
    code VARCHAR NOT NULL,
    CONSTRAINT pk_step_codes PRIMARY KEY (step_id, code),
    CONSTRAINT fk_step_codes_step_id FOREIGN KEY(step_id) REFERENCES steps (id)
) WITHOUT ROWID;
CREATE TABLE step_moves (
    id INTEGER NOT NULL,
    step_id INTEGER NOT NULL,
    old VARCHAR,
    new VARCHAR NOT NULL,
    reason JSON,
    at DATETIME NOT NULL,
    CONSTRAINT pk_step_moves PRIMARY KEY (id),
    CONSTRAINT fk_step_moves_step_id FOREIGN KEY(step_id) REFERENCES steps (id)
);
CREATE TABLE steps (
    id INTEGER NOT NULL,
    experiment_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    needs JSON NOT NULL,
    on_failure VARCHAR NOT NULL,
    max_parallel INTEGER,
    pack INTEGER,
    force BOOLEAN NOT NULL,
    state VARCHAR NOT NULL,
    reason JSON,
    expanded_at DATETIME,
    created_at DATETIME NOT NULL,
    moved_at DATETIME NOT NULL,
    ended_at DATETIME,
    CONSTRAINT pk_steps PRIMARY KEY (id),
    CONSTRAINT fk_steps_experiment_id FOREIGN KEY(experiment_id) REFERENCES experiments (id),
    CONSTRAINT uq_steps_experiment_id UNIQUE (experiment_id, name)
);
CREATE TABLE store_outages (
    url VARCHAR NOT NULL,
    began_at DATETIME NOT NULL,
    tries INTEGER NOT NULL,
    next_try_at DATETIME NOT NULL,
    problem VARCHAR NOT NULL,
    CONSTRAINT pk_store_outages PRIMARY KEY (url)
) WITHOUT ROWID;
CREATE TABLE submit_limits (
    cluster VARCHAR NOT NULL,
    queue VARCHAR NOT NULL,
    accepted INTEGER NOT NULL,
    refused INTEGER,
    refusals INTEGER NOT NULL,
    held_until DATETIME,
    probe_at DATETIME,
    accepted_at DATETIME,
    message VARCHAR NOT NULL,
    leaves_s DOUBLE,
    CONSTRAINT pk_submit_limits PRIMARY KEY (cluster, queue)
);
CREATE TABLE ticks (
    name VARCHAR NOT NULL,
    period_s DOUBLE NOT NULL,
    succeeded_at DATETIME NOT NULL,
    runs BIGINT DEFAULT '0' NOT NULL,
    failures BIGINT DEFAULT '0' NOT NULL,
    reports BIGINT DEFAULT '0' NOT NULL,
    seconds DOUBLE DEFAULT '0' NOT NULL,
    lag_s DOUBLE DEFAULT '0' NOT NULL,
    CONSTRAINT pk_ticks PRIMARY KEY (name)
);
CREATE TABLE trials (
    search_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    params JSON NOT NULL,
    memory JSON NOT NULL,
    seed INTEGER NOT NULL,
    status VARCHAR NOT NULL,
    bracket INTEGER NOT NULL,
    rungs JSON NOT NULL,
    value DOUBLE,
    first_run INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    message VARCHAR,
    asked_at DATETIME NOT NULL,
    ended_at DATETIME,
    CONSTRAINT pk_trials PRIMARY KEY (search_id, number),
    CONSTRAINT fk_trials_search_id FOREIGN KEY(search_id) REFERENCES searches (id)
) WITHOUT ROWID;
CREATE TABLE views (
    id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    page VARCHAR NOT NULL,
    "query" VARCHAR NOT NULL,
    owner VARCHAR DEFAULT '' NOT NULL,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL,
    deleted_at DATETIME,
    CONSTRAINT pk_views PRIMARY KEY (id)
);
CREATE UNIQUE INDEX ix_experiments_key ON experiments ("key");
CREATE INDEX ix_artifacts_holder_id ON artifacts (holder_id) WHERE removed_at IS NULL;
CREATE INDEX ix_artifacts_retention ON artifacts (run_id) WHERE has_retention;
CREATE INDEX ix_changes_version ON changes (version);
CREATE INDEX ix_deliveries_due ON deliveries (not_before) WHERE ended_at IS NULL;
CREATE INDEX ix_deliveries_experiment_id ON deliveries (experiment_id, event, created_at);
CREATE INDEX ix_deliveries_target_id ON deliveries (target_id, status);
CREATE INDEX ix_ended_values_expires_at ON ended_values (expires_at);
CREATE INDEX ix_experiment_fields_experiment_id ON experiment_fields (experiment_id);
CREATE INDEX ix_experiment_tags_tag ON experiment_tags (tag, experiment_id);
CREATE INDEX ix_experiments_archived_at ON experiments (archived_at) WHERE archived_at IS NOT NULL;
CREATE INDEX ix_experiments_created_at ON experiments (created_at, id);
CREATE INDEX ix_experiments_deleted_at ON experiments (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX ix_experiments_name ON experiments (name);
CREATE INDEX ix_experiments_owner ON experiments (owner, id);
CREATE INDEX ix_experiments_project ON experiments (project, id);
CREATE INDEX ix_experiments_restorable_until ON experiments (restorable_until) WHERE restorable_until IS NOT NULL;
CREATE INDEX ix_figures_run_id ON figures (run_id);
CREATE INDEX ix_file_hashes_used_at ON file_hashes (used_at);
CREATE INDEX ix_jobs_ended_at ON jobs (ended_at);
CREATE INDEX ix_jobs_exit_cause ON jobs (exit_cause, ended_at);
CREATE INDEX ix_jobs_given_up_at ON jobs (given_up_at) WHERE given_up_at IS NOT NULL;
CREATE INDEX ix_jobs_is_gone ON jobs (is_gone);
CREATE INDEX ix_jobs_name ON jobs (name);
CREATE INDEX ix_mirror_copies_due ON mirror_copies (due_at) WHERE state IN ('waiting', 'removing');
CREATE INDEX ix_moves_run_id ON moves (run_id);
CREATE INDEX ix_notify_rules_experiment_id ON notify_rules (experiment_id);
CREATE INDEX ix_notify_rules_owner ON notify_rules (owner);
CREATE INDEX ix_notify_rules_target_id ON notify_rules (target_id);
CREATE INDEX ix_occurrences_experiment_id ON occurrences (experiment_id, event);
CREATE INDEX ix_report_blocks_report_id ON report_blocks (report_id, place);
CREATE INDEX ix_reports_updated_at ON reports (updated_at, id);
CREATE INDEX ix_run_fields_run_id ON run_fields (run_id);
CREATE INDEX ix_run_tags_tag ON run_tags (tag, run_id);
CREATE INDEX ix_runs_archived_at ON runs (archived_at) WHERE archived_at IS NOT NULL;
CREATE INDEX ix_runs_code ON runs (code) WHERE code IS NOT NULL;
CREATE INDEX ix_runs_created_at ON runs (created_at, id);
CREATE INDEX ix_runs_deleted_at ON runs (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX ix_runs_diverged ON runs (experiment_id) WHERE diverged IS NOT NULL;
CREATE INDEX ix_runs_ended_at ON runs (ended_at);
CREATE INDEX ix_runs_history ON runs (ended_at) WHERE history_removed_at IS NULL;
CREATE INDEX ix_runs_moved_at ON runs (moved_at) WHERE ended_at IS NOT NULL;
CREATE INDEX ix_runs_points ON runs (ended_at) WHERE points_removed_at IS NULL;
CREATE INDEX ix_runs_restorable_until ON runs (restorable_until) WHERE restorable_until IS NOT NULL;
CREATE INDEX ix_runs_reuse ON runs (reuse, id) WHERE reuse IS NOT NULL;
CREATE INDEX ix_runs_reuse_key ON runs (reuse_key, id) WHERE reuse_key IS NOT NULL;
CREATE INDEX ix_runs_state ON runs (state, id);
CREATE INDEX ix_runs_state_ended_at ON runs (state, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX ix_runs_step ON runs (step_id, state, deleted_at) WHERE step_id IS NOT NULL;
CREATE INDEX ix_runs_summary ON runs (experiment_id, state, step, steps, objective_value, deleted_at);
CREATE INDEX ix_runs_visible ON runs (id) WHERE deleted_at IS NULL AND archived_at IS NULL;
CREATE INDEX ix_schedule_codes_code ON schedule_codes (code);
CREATE INDEX ix_schedules_next_at ON schedules (next_at) WHERE paused_at IS NULL;
CREATE INDEX ix_searches_open ON searches (id) WHERE ended_at IS NULL;
CREATE INDEX ix_snapshots_used_at ON snapshots (used_at);
CREATE INDEX ix_step_codes_code ON step_codes (code);
CREATE INDEX ix_step_moves_step_id ON step_moves (step_id);
CREATE INDEX ix_steps_state ON steps (state, experiment_id);
CREATE INDEX ix_views_page ON views (page, name);
