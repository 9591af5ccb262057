-- what the 41 migrations before the first release made on PostgreSQL (pg_dump, which alone writes `IN` as another
-- expression)
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.artifacts (
    run_id integer NOT NULL,
    attempt integer NOT NULL,
    name character varying NOT NULL,
    holder_id integer NOT NULL,
    kind character varying NOT NULL,
    path character varying NOT NULL,
    size_bytes bigint NOT NULL,
    files integer NOT NULL,
    sha256 character varying NOT NULL,
    created_at timestamp with time zone NOT NULL,
    removed_at timestamp with time zone,
    removed_because character varying,
    has_retention boolean NOT NULL
);
CREATE TABLE public.call_counts (
    cluster character varying NOT NULL,
    command character varying NOT NULL,
    outcome character varying NOT NULL,
    count bigint NOT NULL,
    seconds double precision NOT NULL
);
CREATE TABLE public.call_kinds (
    cluster character varying NOT NULL,
    kind character varying NOT NULL,
    reserve integer NOT NULL,
    at double precision NOT NULL
);
CREATE TABLE public.call_slots (
    cluster character varying NOT NULL,
    slot integer NOT NULL,
    at double precision NOT NULL,
    kind character varying DEFAULT ''::character varying NOT NULL
);
CREATE TABLE public.cell_blocks (
    series_id integer NOT NULL,
    level integer NOT NULL,
    block integer NOT NULL,
    data bytea NOT NULL
);
ALTER TABLE ONLY public.cell_blocks ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE public.changes (
    experiment_id integer NOT NULL,
    run_id integer NOT NULL,
    version bigint NOT NULL,
    points_version bigint NOT NULL,
    details_version bigint NOT NULL,
    at timestamp with time zone NOT NULL
);
CREATE TABLE public.chunks (
    series_id integer NOT NULL,
    first_step integer NOT NULL,
    last_step integer NOT NULL,
    count integer NOT NULL,
    data bytea NOT NULL
);
ALTER TABLE ONLY public.chunks ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE public.clusters (
    kind character varying NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    error character varying,
    report json,
    poll_after timestamp with time zone
);
CREATE TABLE public.deliveries (
    id integer NOT NULL,
    key character varying NOT NULL,
    target_id integer NOT NULL,
    target_name character varying NOT NULL,
    experiment_id integer,
    event character varying NOT NULL,
    title character varying NOT NULL,
    body json NOT NULL,
    status character varying NOT NULL,
    attempts integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    not_before timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    error character varying
);
CREATE SEQUENCE public.deliveries_id_seq AS integer;
ALTER SEQUENCE public.deliveries_id_seq OWNED BY public.deliveries.id;
CREATE TABLE public.divergences (
    run_id integer NOT NULL,
    name character varying NOT NULL,
    step integer NOT NULL,
    at timestamp with time zone NOT NULL
);
CREATE TABLE public.ended_values (
    nonce character varying NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
CREATE TABLE public.experiment_fields (
    path character varying NOT NULL,
    experiment_id integer NOT NULL,
    number double precision,
    text character varying
);
CREATE TABLE public.experiment_tags (
    experiment_id integer NOT NULL,
    tag character varying NOT NULL
);
CREATE TABLE public.experiments (
    id integer NOT NULL,
    name character varying NOT NULL COLLATE pg_catalog."C",
    description character varying NOT NULL,
    spec json NOT NULL,
    created_at timestamp with time zone NOT NULL,
    max_parallel integer,
    key character varying,
    pack integer,
    notes character varying DEFAULT ''::character varying NOT NULL,
    owner character varying DEFAULT ''::character varying NOT NULL,
    project character varying DEFAULT ''::character varying NOT NULL,
    origin_id integer,
    added_points json,
    archived_at timestamp with time zone,
    deleted_at timestamp with time zone,
    table_base json,
    restorable_until timestamp with time zone,
    objective json
);
CREATE SEQUENCE public.experiments_id_seq AS integer;
ALTER SEQUENCE public.experiments_id_seq OWNED BY public.experiments.id;
CREATE TABLE public.figures (
    name character varying NOT NULL,
    run_id integer NOT NULL,
    last_step integer NOT NULL,
    last double precision,
    size bigint NOT NULL,
    "least" double precision,
    most double precision,
    mean double precision,
    not_finite character varying,
    not_finite_from integer
);
CREATE TABLE public.file_hashes (
    path character varying NOT NULL,
    size_bytes bigint NOT NULL,
    mtime_ns bigint NOT NULL,
    ctime_ns bigint NOT NULL,
    inode character varying NOT NULL,
    sha256 character varying NOT NULL,
    used_at timestamp with time zone NOT NULL
);
CREATE TABLE public.jobs (
    id integer NOT NULL,
    run_id integer NOT NULL,
    attempt integer NOT NULL,
    name character varying NOT NULL,
    cluster character varying NOT NULL,
    array_task integer,
    pack_member integer,
    external_id character varying,
    lease_renewed_at timestamp with time zone NOT NULL,
    pending_reason character varying,
    pending_detail character varying,
    unknown_since timestamp with time zone,
    observed_end json,
    observed_cause character varying,
    observed_at timestamp with time zone,
    is_gone boolean NOT NULL,
    reported_cause character varying,
    hosts json NOT NULL,
    stop_requested_at timestamp with time zone,
    kill_requested_at timestamp with time zone,
    ended_at timestamp with time zone,
    exit_cause character varying,
    exit_reason json,
    exit_step integer,
    given_up_at timestamp with time zone,
    started_at timestamp with time zone,
    clock_shift_s double precision DEFAULT '0'::double precision NOT NULL,
    reached_step integer,
    ran_s double precision
);
CREATE SEQUENCE public.jobs_id_seq AS integer;
ALTER SEQUENCE public.jobs_id_seq OWNED BY public.jobs.id;
CREATE TABLE public.mirror_copies (
    run_id integer NOT NULL,
    attempt integer NOT NULL,
    name character varying NOT NULL,
    state character varying NOT NULL,
    store character varying,
    place character varying,
    due_at timestamp with time zone NOT NULL,
    claims integer NOT NULL,
    faults integer NOT NULL,
    problem character varying,
    copied_at timestamp with time zone,
    manifest_sha256 character varying
);
CREATE TABLE public.moves (
    id integer NOT NULL,
    run_id integer NOT NULL,
    old character varying,
    new character varying NOT NULL,
    at timestamp with time zone NOT NULL,
    reason json
);
CREATE SEQUENCE public.moves_id_seq AS integer;
ALTER SEQUENCE public.moves_id_seq OWNED BY public.moves.id;
CREATE TABLE public.notify_rules (
    id integer NOT NULL,
    target_id integer NOT NULL,
    experiment_id integer,
    owner character varying,
    events json NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.notify_rules_id_seq AS integer;
ALTER SEQUENCE public.notify_rules_id_seq OWNED BY public.notify_rules.id;
CREATE TABLE public.notify_targets (
    id integer NOT NULL,
    name character varying NOT NULL COLLATE pg_catalog."C",
    kind character varying NOT NULL,
    address character varying NOT NULL,
    secret character varying,
    owner character varying DEFAULT ''::character varying NOT NULL,
    created_at timestamp with time zone NOT NULL,
    delivered_at timestamp with time zone,
    error character varying
);
CREATE SEQUENCE public.notify_targets_id_seq AS integer;
ALTER SEQUENCE public.notify_targets_id_seq OWNED BY public.notify_targets.id;
CREATE TABLE public.occurrences (
    id integer NOT NULL,
    experiment_id integer NOT NULL,
    event character varying NOT NULL,
    run_id integer,
    detail json NOT NULL,
    at timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.occurrences_id_seq AS integer;
ALTER SEQUENCE public.occurrences_id_seq OWNED BY public.occurrences.id;
CREATE TABLE public.point_writers (
    run_id integer NOT NULL,
    name character varying NOT NULL,
    stored integer NOT NULL
);
CREATE TABLE public.report_blocks (
    id integer NOT NULL,
    report_id integer NOT NULL,
    place integer NOT NULL,
    content json NOT NULL
);
CREATE SEQUENCE public.report_blocks_id_seq AS integer;
ALTER SEQUENCE public.report_blocks_id_seq OWNED BY public.report_blocks.id;
CREATE TABLE public.reports (
    id integer NOT NULL,
    title character varying NOT NULL,
    owner character varying DEFAULT ''::character varying NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone
);
CREATE SEQUENCE public.reports_id_seq AS integer;
ALTER SEQUENCE public.reports_id_seq OWNED BY public.reports.id;
CREATE TABLE public.restarts (
    run_id integer NOT NULL,
    attempt integer NOT NULL,
    step integer NOT NULL,
    lost_steps integer NOT NULL,
    at timestamp with time zone NOT NULL
);
CREATE TABLE public.run_fields (
    path character varying NOT NULL,
    run_id integer NOT NULL,
    number double precision,
    text character varying
);
CREATE TABLE public.run_tags (
    run_id integer NOT NULL,
    tag character varying NOT NULL
);
CREATE TABLE public.runs (
    id integer NOT NULL,
    experiment_id integer NOT NULL,
    number integer NOT NULL,
    key character varying NOT NULL,
    spec json NOT NULL,
    axis_values json NOT NULL,
    cluster character varying NOT NULL,
    world integer NOT NULL,
    steps integer NOT NULL,
    state character varying NOT NULL,
    stop_requested_at timestamp with time zone,
    attempt integer NOT NULL,
    cursor bigint NOT NULL,
    step integer NOT NULL,
    latest json NOT NULL,
    created_at timestamp with time zone NOT NULL,
    moved_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    need character varying NOT NULL,
    not_before timestamp with time zone,
    excluded json NOT NULL,
    reason json,
    stop_source character varying,
    current_job_id integer,
    objective_value double precision,
    points_removed_at timestamp with time zone,
    history_removed_at timestamp with time zone,
    queue character varying NOT NULL,
    withdrawn integer NOT NULL,
    rank_cursors json DEFAULT '{}'::json NOT NULL,
    code character varying,
    notes character varying DEFAULT ''::character varying NOT NULL,
    retries_after integer DEFAULT 0 NOT NULL,
    archived_at timestamp with time zone,
    deleted_at timestamp with time zone,
    reuse character varying,
    reuse_key character varying,
    input_hashes json,
    taken_from integer,
    step_id integer,
    restorable_until timestamp with time zone,
    unread json,
    ran_s double precision,
    diverged json,
    left_out character varying
);
CREATE SEQUENCE public.runs_id_seq AS integer;
ALTER SEQUENCE public.runs_id_seq OWNED BY public.runs.id;
CREATE TABLE public.schedule_codes (
    schedule_id integer NOT NULL,
    code character varying NOT NULL
);
CREATE TABLE public.schedule_starts (
    schedule_id integer NOT NULL,
    key character varying NOT NULL,
    status character varying NOT NULL,
    experiment_id integer,
    message character varying,
    at timestamp with time zone NOT NULL
);
CREATE TABLE public.schedules (
    id integer NOT NULL,
    key character varying NOT NULL,
    name character varying NOT NULL COLLATE pg_catalog."C",
    owner character varying DEFAULT ''::character varying NOT NULL,
    spec json NOT NULL,
    cron character varying,
    time_zone character varying NOT NULL,
    path character varying,
    missed character varying NOT NULL,
    overlap character varying NOT NULL,
    next_at timestamp with time zone,
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    paused_at timestamp with time zone
);
CREATE SEQUENCE public.schedules_id_seq AS integer;
ALTER SEQUENCE public.schedules_id_seq OWNED BY public.schedules.id;
CREATE TABLE public.searches (
    id integer NOT NULL,
    experiment_id integer NOT NULL,
    step character varying NOT NULL,
    spec json NOT NULL,
    base json NOT NULL,
    trials integer NOT NULL,
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    paused_at timestamp with time zone,
    stop_requested_at timestamp with time zone,
    ended_at timestamp with time zone,
    end_cause character varying
);
CREATE SEQUENCE public.searches_id_seq AS integer;
ALTER SEQUENCE public.searches_id_seq OWNED BY public.searches.id;
CREATE TABLE public.series (
    id integer NOT NULL,
    run_id integer NOT NULL,
    name character varying NOT NULL,
    tail bytea DEFAULT '\x'::bytea NOT NULL,
    first_step integer,
    chunked_to integer DEFAULT '-1'::integer NOT NULL,
    open_chunk integer,
    cell_width integer DEFAULT 0 NOT NULL
);
CREATE SEQUENCE public.series_id_seq AS integer;
ALTER SEQUENCE public.series_id_seq OWNED BY public.series.id;
CREATE TABLE public.service (
    id integer NOT NULL,
    identity character varying NOT NULL,
    marks bigint DEFAULT '0'::bigint NOT NULL,
    experiments bigint DEFAULT '0'::bigint NOT NULL,
    runs bigint DEFAULT '0'::bigint NOT NULL
);
CREATE TABLE public.silences (
    cluster character varying NOT NULL,
    at double precision NOT NULL
);
CREATE TABLE public.snapshots (
    hash character varying NOT NULL,
    created_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone NOT NULL,
    size bigint NOT NULL,
    files integer NOT NULL,
    has_git boolean NOT NULL,
    commit character varying,
    branch character varying,
    staged integer NOT NULL,
    unstaged integer NOT NULL,
    untracked integer NOT NULL,
    unpushed integer
);
CREATE TABLE public.step_codes (
    step_id integer NOT NULL,
    code character varying NOT NULL
);
CREATE TABLE public.step_moves (
    id integer NOT NULL,
    step_id integer NOT NULL,
    old character varying,
    new character varying NOT NULL,
    reason json,
    at timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.step_moves_id_seq AS integer;
ALTER SEQUENCE public.step_moves_id_seq OWNED BY public.step_moves.id;
CREATE TABLE public.steps (
    id integer NOT NULL,
    experiment_id integer NOT NULL,
    "position" integer NOT NULL,
    name character varying NOT NULL,
    needs json NOT NULL,
    on_failure character varying NOT NULL,
    max_parallel integer,
    pack integer,
    force boolean NOT NULL,
    state character varying NOT NULL,
    reason json,
    expanded_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    moved_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone
);
CREATE SEQUENCE public.steps_id_seq AS integer;
ALTER SEQUENCE public.steps_id_seq OWNED BY public.steps.id;
CREATE TABLE public.store_outages (
    url character varying NOT NULL,
    began_at timestamp with time zone NOT NULL,
    tries integer NOT NULL,
    next_try_at timestamp with time zone NOT NULL,
    problem character varying NOT NULL
);
CREATE TABLE public.submit_limits (
    cluster character varying NOT NULL,
    queue character varying NOT NULL,
    accepted integer NOT NULL,
    refused integer,
    refusals integer NOT NULL,
    held_until timestamp with time zone,
    probe_at timestamp with time zone,
    accepted_at timestamp with time zone,
    message character varying NOT NULL,
    leaves_s double precision
);
CREATE TABLE public.ticks (
    name character varying NOT NULL,
    period_s double precision NOT NULL,
    succeeded_at timestamp with time zone NOT NULL,
    runs bigint DEFAULT '0'::bigint NOT NULL,
    failures bigint DEFAULT '0'::bigint NOT NULL,
    reports bigint DEFAULT '0'::bigint NOT NULL,
    seconds double precision DEFAULT '0'::double precision NOT NULL,
    lag_s double precision DEFAULT '0'::double precision NOT NULL
);
CREATE TABLE public.trials (
    search_id integer NOT NULL,
    number integer NOT NULL,
    params json NOT NULL,
    memory json NOT NULL,
    seed integer NOT NULL,
    status character varying NOT NULL,
    bracket integer NOT NULL,
    rungs json NOT NULL,
    value double precision,
    first_run integer NOT NULL,
    runs integer NOT NULL,
    message character varying,
    asked_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone
);
CREATE TABLE public.views (
    id integer NOT NULL,
    name character varying NOT NULL COLLATE pg_catalog."C",
    page character varying NOT NULL,
    query character varying NOT NULL,
    owner character varying DEFAULT ''::character varying NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone
);
CREATE SEQUENCE public.views_id_seq AS integer;
ALTER SEQUENCE public.views_id_seq OWNED BY public.views.id;
ALTER TABLE ONLY public.deliveries ALTER COLUMN id SET DEFAULT nextval('public.deliveries_id_seq'::regclass);
ALTER TABLE ONLY public.experiments ALTER COLUMN id SET DEFAULT nextval('public.experiments_id_seq'::regclass);
ALTER TABLE ONLY public.jobs ALTER COLUMN id SET DEFAULT nextval('public.jobs_id_seq'::regclass);
ALTER TABLE ONLY public.moves ALTER COLUMN id SET DEFAULT nextval('public.moves_id_seq'::regclass);
ALTER TABLE ONLY public.notify_rules ALTER COLUMN id SET DEFAULT nextval('public.notify_rules_id_seq'::regclass);
ALTER TABLE ONLY public.notify_targets ALTER COLUMN id SET DEFAULT nextval('public.notify_targets_id_seq'::regclass);
ALTER TABLE ONLY public.occurrences ALTER COLUMN id SET DEFAULT nextval('public.occurrences_id_seq'::regclass);
ALTER TABLE ONLY public.report_blocks ALTER COLUMN id SET DEFAULT nextval('public.report_blocks_id_seq'::regclass);
ALTER TABLE ONLY public.reports ALTER COLUMN id SET DEFAULT nextval('public.reports_id_seq'::regclass);
ALTER TABLE ONLY public.runs ALTER COLUMN id SET DEFAULT nextval('public.runs_id_seq'::regclass);
ALTER TABLE ONLY public.schedules ALTER COLUMN id SET DEFAULT nextval('public.schedules_id_seq'::regclass);
ALTER TABLE ONLY public.searches ALTER COLUMN id SET DEFAULT nextval('public.searches_id_seq'::regclass);
ALTER TABLE ONLY public.series ALTER COLUMN id SET DEFAULT nextval('public.series_id_seq'::regclass);
ALTER TABLE ONLY public.step_moves ALTER COLUMN id SET DEFAULT nextval('public.step_moves_id_seq'::regclass);
ALTER TABLE ONLY public.steps ALTER COLUMN id SET DEFAULT nextval('public.steps_id_seq'::regclass);
ALTER TABLE ONLY public.views ALTER COLUMN id SET DEFAULT nextval('public.views_id_seq'::regclass);
ALTER TABLE ONLY public.alembic_version ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.artifacts ADD CONSTRAINT pk_artifacts PRIMARY KEY (run_id, attempt, name);
ALTER TABLE ONLY public.call_counts ADD CONSTRAINT pk_call_counts PRIMARY KEY (cluster, command, outcome);
ALTER TABLE ONLY public.call_kinds ADD CONSTRAINT pk_call_kinds PRIMARY KEY (cluster, kind);
ALTER TABLE ONLY public.call_slots ADD CONSTRAINT pk_call_slots PRIMARY KEY (cluster, slot);
ALTER TABLE ONLY public.cell_blocks ADD CONSTRAINT pk_cell_blocks PRIMARY KEY (series_id, level, block);
ALTER TABLE ONLY public.changes ADD CONSTRAINT pk_changes PRIMARY KEY (experiment_id, run_id);
ALTER TABLE ONLY public.chunks ADD CONSTRAINT pk_chunks PRIMARY KEY (series_id, first_step);
ALTER TABLE ONLY public.clusters ADD CONSTRAINT pk_clusters PRIMARY KEY (kind);
ALTER TABLE ONLY public.deliveries ADD CONSTRAINT pk_deliveries PRIMARY KEY (id);
ALTER TABLE ONLY public.divergences ADD CONSTRAINT pk_divergences PRIMARY KEY (run_id);
ALTER TABLE ONLY public.ended_values ADD CONSTRAINT pk_ended_values PRIMARY KEY (nonce);
ALTER TABLE ONLY public.experiment_fields ADD CONSTRAINT pk_experiment_fields PRIMARY KEY (path, experiment_id);
ALTER TABLE ONLY public.experiment_tags ADD CONSTRAINT pk_experiment_tags PRIMARY KEY (experiment_id, tag);
ALTER TABLE ONLY public.experiments ADD CONSTRAINT pk_experiments PRIMARY KEY (id);
ALTER TABLE ONLY public.figures ADD CONSTRAINT pk_figures PRIMARY KEY (name, run_id);
ALTER TABLE ONLY public.file_hashes ADD CONSTRAINT pk_file_hashes PRIMARY KEY (path);
ALTER TABLE ONLY public.jobs ADD CONSTRAINT pk_jobs PRIMARY KEY (id);
ALTER TABLE ONLY public.mirror_copies ADD CONSTRAINT pk_mirror_copies PRIMARY KEY (run_id, attempt, name);
ALTER TABLE ONLY public.moves ADD CONSTRAINT pk_moves PRIMARY KEY (id);
ALTER TABLE ONLY public.notify_rules ADD CONSTRAINT pk_notify_rules PRIMARY KEY (id);
ALTER TABLE ONLY public.notify_targets ADD CONSTRAINT pk_notify_targets PRIMARY KEY (id);
ALTER TABLE ONLY public.occurrences ADD CONSTRAINT pk_occurrences PRIMARY KEY (id);
ALTER TABLE ONLY public.point_writers ADD CONSTRAINT pk_point_writers PRIMARY KEY (run_id, name);
ALTER TABLE ONLY public.report_blocks ADD CONSTRAINT pk_report_blocks PRIMARY KEY (id);
ALTER TABLE ONLY public.reports ADD CONSTRAINT pk_reports PRIMARY KEY (id);
ALTER TABLE ONLY public.restarts ADD CONSTRAINT pk_restarts PRIMARY KEY (run_id, attempt);
ALTER TABLE ONLY public.run_fields ADD CONSTRAINT pk_run_fields PRIMARY KEY (path, run_id);
ALTER TABLE ONLY public.run_tags ADD CONSTRAINT pk_run_tags PRIMARY KEY (run_id, tag);
ALTER TABLE ONLY public.runs ADD CONSTRAINT pk_runs PRIMARY KEY (id);
ALTER TABLE ONLY public.schedule_codes ADD CONSTRAINT pk_schedule_codes PRIMARY KEY (schedule_id, code);
ALTER TABLE ONLY public.schedule_starts ADD CONSTRAINT pk_schedule_starts PRIMARY KEY (schedule_id, key);
ALTER TABLE ONLY public.schedules ADD CONSTRAINT pk_schedules PRIMARY KEY (id);
ALTER TABLE ONLY public.searches ADD CONSTRAINT pk_searches PRIMARY KEY (id);
ALTER TABLE ONLY public.series ADD CONSTRAINT pk_series PRIMARY KEY (id);
ALTER TABLE ONLY public.service ADD CONSTRAINT pk_service PRIMARY KEY (id);
ALTER TABLE ONLY public.silences ADD CONSTRAINT pk_silences PRIMARY KEY (cluster);
ALTER TABLE ONLY public.snapshots ADD CONSTRAINT pk_snapshots PRIMARY KEY (hash);
ALTER TABLE ONLY public.step_codes ADD CONSTRAINT pk_step_codes PRIMARY KEY (step_id, code);
ALTER TABLE ONLY public.step_moves ADD CONSTRAINT pk_step_moves PRIMARY KEY (id);
ALTER TABLE ONLY public.steps ADD CONSTRAINT pk_steps PRIMARY KEY (id);
ALTER TABLE ONLY public.store_outages ADD CONSTRAINT pk_store_outages PRIMARY KEY (url);
ALTER TABLE ONLY public.submit_limits ADD CONSTRAINT pk_submit_limits PRIMARY KEY (cluster, queue);
ALTER TABLE ONLY public.ticks ADD CONSTRAINT pk_ticks PRIMARY KEY (name);
ALTER TABLE ONLY public.trials ADD CONSTRAINT pk_trials PRIMARY KEY (search_id, number);
ALTER TABLE ONLY public.views ADD CONSTRAINT pk_views PRIMARY KEY (id);
ALTER TABLE ONLY public.deliveries ADD CONSTRAINT uq_deliveries_key UNIQUE (key);
ALTER TABLE ONLY public.jobs ADD CONSTRAINT uq_jobs_run_id UNIQUE (run_id, attempt);
ALTER TABLE ONLY public.notify_targets ADD CONSTRAINT uq_notify_targets_name UNIQUE (name);
ALTER TABLE ONLY public.runs ADD CONSTRAINT uq_runs_experiment_id UNIQUE (experiment_id, number);
ALTER TABLE ONLY public.runs ADD CONSTRAINT uq_runs_key UNIQUE (key);
ALTER TABLE ONLY public.schedules ADD CONSTRAINT uq_schedules_key UNIQUE (key);
ALTER TABLE ONLY public.schedules ADD CONSTRAINT uq_schedules_name UNIQUE (name);
ALTER TABLE ONLY public.searches ADD CONSTRAINT uq_searches_experiment_id UNIQUE (experiment_id, step);
ALTER TABLE ONLY public.series ADD CONSTRAINT uq_series_run_id UNIQUE (run_id, name);
ALTER TABLE ONLY public.steps ADD CONSTRAINT uq_steps_experiment_id UNIQUE (experiment_id, name);
CREATE INDEX ix_artifacts_holder_id ON public.artifacts USING btree (holder_id) WHERE (removed_at IS NULL);
CREATE INDEX ix_artifacts_retention ON public.artifacts USING btree (run_id) WHERE has_retention;
CREATE INDEX ix_changes_version ON public.changes USING btree (version);
CREATE INDEX ix_deliveries_due ON public.deliveries USING btree (not_before) WHERE (ended_at IS NULL);
CREATE INDEX ix_deliveries_experiment_id ON public.deliveries USING btree (experiment_id, event, created_at);
CREATE INDEX ix_deliveries_target_id ON public.deliveries USING btree (target_id, status);
CREATE INDEX ix_ended_values_expires_at ON public.ended_values USING btree (expires_at);
CREATE INDEX ix_experiment_fields_experiment_id ON public.experiment_fields USING btree (experiment_id);
CREATE INDEX ix_experiment_tags_tag ON public.experiment_tags USING btree (tag, experiment_id);
CREATE INDEX ix_experiments_archived_at ON public.experiments USING btree (archived_at) WHERE (archived_at IS NOT NULL);
CREATE INDEX ix_experiments_created_at ON public.experiments USING btree (created_at, id);
CREATE INDEX ix_experiments_deleted_at ON public.experiments USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE UNIQUE INDEX ix_experiments_key ON public.experiments USING btree (key);
CREATE INDEX ix_experiments_name ON public.experiments USING btree (name);
CREATE INDEX ix_experiments_owner ON public.experiments USING btree (owner, id);
CREATE INDEX ix_experiments_project ON public.experiments USING btree (project, id);
CREATE INDEX ix_experiments_restorable_until ON public.experiments USING btree (restorable_until) WHERE (restorable_until IS NOT NULL);
CREATE INDEX ix_figures_run_id ON public.figures USING btree (run_id);
CREATE INDEX ix_file_hashes_used_at ON public.file_hashes USING btree (used_at);
CREATE INDEX ix_jobs_ended_at ON public.jobs USING btree (ended_at);
CREATE INDEX ix_jobs_exit_cause ON public.jobs USING btree (exit_cause, ended_at);
CREATE INDEX ix_jobs_given_up_at ON public.jobs USING btree (given_up_at) WHERE (given_up_at IS NOT NULL);
CREATE INDEX ix_jobs_is_gone ON public.jobs USING btree (is_gone);
CREATE INDEX ix_jobs_name ON public.jobs USING btree (name);
CREATE INDEX ix_mirror_copies_due ON public.mirror_copies USING btree (due_at) WHERE state IN ('waiting', 'removing');
CREATE INDEX ix_moves_run_id ON public.moves USING btree (run_id);
CREATE INDEX ix_notify_rules_experiment_id ON public.notify_rules USING btree (experiment_id);
CREATE INDEX ix_notify_rules_owner ON public.notify_rules USING btree (owner);
CREATE INDEX ix_notify_rules_target_id ON public.notify_rules USING btree (target_id);
CREATE INDEX ix_occurrences_experiment_id ON public.occurrences USING btree (experiment_id, event);
CREATE INDEX ix_report_blocks_report_id ON public.report_blocks USING btree (report_id, place);
CREATE INDEX ix_reports_updated_at ON public.reports USING btree (updated_at, id);
CREATE INDEX ix_run_fields_run_id ON public.run_fields USING btree (run_id);
CREATE INDEX ix_run_tags_tag ON public.run_tags USING btree (tag, run_id);
CREATE INDEX ix_runs_archived_at ON public.runs USING btree (archived_at) WHERE (archived_at IS NOT NULL);
CREATE INDEX ix_runs_code ON public.runs USING btree (code) WHERE (code IS NOT NULL);
CREATE INDEX ix_runs_created_at ON public.runs USING btree (created_at, id);
CREATE INDEX ix_runs_deleted_at ON public.runs USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX ix_runs_diverged ON public.runs USING btree (experiment_id) WHERE (diverged IS NOT NULL);
CREATE INDEX ix_runs_ended_at ON public.runs USING btree (ended_at);
CREATE INDEX ix_runs_history ON public.runs USING btree (ended_at) WHERE (history_removed_at IS NULL);
CREATE INDEX ix_runs_moved_at ON public.runs USING btree (moved_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX ix_runs_points ON public.runs USING btree (ended_at) WHERE (points_removed_at IS NULL);
CREATE INDEX ix_runs_restorable_until ON public.runs USING btree (restorable_until) WHERE (restorable_until IS NOT NULL);
CREATE INDEX ix_runs_reuse ON public.runs USING btree (reuse, id) WHERE (reuse IS NOT NULL);
CREATE INDEX ix_runs_reuse_key ON public.runs USING btree (reuse_key, id) WHERE (reuse_key IS NOT NULL);
CREATE INDEX ix_runs_state ON public.runs USING btree (state, id);
CREATE INDEX ix_runs_state_ended_at ON public.runs USING btree (state, ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX ix_runs_step ON public.runs USING btree (step_id, state, deleted_at) WHERE (step_id IS NOT NULL);
CREATE INDEX ix_runs_summary ON public.runs USING btree (experiment_id, state, step, steps, objective_value, deleted_at);
CREATE INDEX ix_runs_visible ON public.runs USING btree (id) WHERE ((deleted_at IS NULL) AND (archived_at IS NULL));
CREATE INDEX ix_schedule_codes_code ON public.schedule_codes USING btree (code);
CREATE INDEX ix_schedules_next_at ON public.schedules USING btree (next_at) WHERE (paused_at IS NULL);
CREATE INDEX ix_searches_open ON public.searches USING btree (id) WHERE (ended_at IS NULL);
CREATE INDEX ix_snapshots_used_at ON public.snapshots USING btree (used_at);
CREATE INDEX ix_step_codes_code ON public.step_codes USING btree (code);
CREATE INDEX ix_step_moves_step_id ON public.step_moves USING btree (step_id);
CREATE INDEX ix_steps_state ON public.steps USING btree (state, experiment_id);
CREATE INDEX ix_views_page ON public.views USING btree (page, name);
ALTER TABLE ONLY public.artifacts ADD CONSTRAINT fk_artifacts_run_id FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.cell_blocks ADD CONSTRAINT fk_cell_blocks_series_id FOREIGN KEY (series_id) REFERENCES public.series(id);
ALTER TABLE ONLY public.chunks ADD CONSTRAINT fk_chunks_series_id FOREIGN KEY (series_id) REFERENCES public.series(id);
ALTER TABLE ONLY public.divergences ADD CONSTRAINT fk_divergences_run_id FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.experiment_fields ADD CONSTRAINT fk_experiment_fields_experiment_id FOREIGN KEY (experiment_id) REFERENCES public.experiments(id);
ALTER TABLE ONLY public.experiment_tags ADD CONSTRAINT fk_experiment_tags_experiment_id FOREIGN KEY (experiment_id) REFERENCES public.experiments(id);
ALTER TABLE ONLY public.figures ADD CONSTRAINT fk_figures_run_id FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.jobs ADD CONSTRAINT fk_jobs_run_id FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.moves ADD CONSTRAINT fk_moves_run_id FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.notify_rules ADD CONSTRAINT fk_notify_rules_experiment_id FOREIGN KEY (experiment_id) REFERENCES public.experiments(id);
ALTER TABLE ONLY public.notify_rules ADD CONSTRAINT fk_notify_rules_target_id FOREIGN KEY (target_id) REFERENCES public.notify_targets(id);
ALTER TABLE ONLY public.point_writers ADD CONSTRAINT fk_point_writers_run_id FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.report_blocks ADD CONSTRAINT fk_report_blocks_report_id FOREIGN KEY (report_id) REFERENCES public.reports(id);
ALTER TABLE ONLY public.restarts ADD CONSTRAINT fk_restarts_run_id FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.run_fields ADD CONSTRAINT fk_run_fields_run_id FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.run_tags ADD CONSTRAINT fk_run_tags_run_id FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.runs ADD CONSTRAINT fk_runs_current_job_id FOREIGN KEY (current_job_id) REFERENCES public.jobs(id);
ALTER TABLE ONLY public.runs ADD CONSTRAINT fk_runs_experiment_id FOREIGN KEY (experiment_id) REFERENCES public.experiments(id);
ALTER TABLE ONLY public.schedule_codes ADD CONSTRAINT fk_schedule_codes_schedule_id FOREIGN KEY (schedule_id) REFERENCES public.schedules(id);
ALTER TABLE ONLY public.schedule_starts ADD CONSTRAINT fk_schedule_starts_schedule_id FOREIGN KEY (schedule_id) REFERENCES public.schedules(id);
ALTER TABLE ONLY public.searches ADD CONSTRAINT fk_searches_experiment_id FOREIGN KEY (experiment_id) REFERENCES public.experiments(id);
ALTER TABLE ONLY public.series ADD CONSTRAINT fk_series_run_id FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.step_codes ADD CONSTRAINT fk_step_codes_step_id FOREIGN KEY (step_id) REFERENCES public.steps(id);
ALTER TABLE ONLY public.step_moves ADD CONSTRAINT fk_step_moves_step_id FOREIGN KEY (step_id) REFERENCES public.steps(id);
ALTER TABLE ONLY public.steps ADD CONSTRAINT fk_steps_experiment_id FOREIGN KEY (experiment_id) REFERENCES public.experiments(id);
ALTER TABLE ONLY public.trials ADD CONSTRAINT fk_trials_search_id FOREIGN KEY (search_id) REFERENCES public.searches(id);
