/** Generated from jupysched.wire by `make schema`. Never edited by hand. */

export const JOB_STATES = [
  "pending",
  "held",
  "starting",
  "running",
  "stopping",
  "suspended",
  "succeeded",
  "failed",
  "cancelled"
] as const;

export type JobState = (typeof JOB_STATES)[number];

export const REASONS = {
  "priority": "jobs ahead of it in the queue start first",
  "resources": "the GPUs it needs are busy",
  "gang_too_wide": "it needs more GPUs on one node than any node has",
  "quota": "its user or group has used up a quota",
  "qos_limit": "its class has reached a limit",
  "reservation": "the free GPUs are reserved",
  "node_drained": "the GPUs that would fit are drained",
  "held_by_user": "held by its user",
  "held_by_admin": "held by an admin",
  "dependency": "waits for another job (--after), or that job did not succeed",
  "exit_code": "its process ended with an exit code or a signal",
  "exception": "the cell raised an exception",
  "out_of_memory": "out of memory (RAM or GPU)",
  "time_limit": "ran longer than its --time",
  "node_lost": "the node it ran on was lost",
  "lease_expired": "its supervisor died; it is not run again on a guess",
  "preempted": "stopped for a more urgent job",
  "cancelled_by_user": "cancelled by its user",
  "cancelled_by_admin": "cancelled by an admin",
  "not_picklable": "a value it needs cannot travel",
  "runner_missing": "its interpreter or files could not be used"
} as const;

export type JobRow = Partial<JobRecord> & { id: number };

export type GpuRow = Partial<GpuRecord> & { id: string };

/** What a job asks for. */
export interface RequestRecord {
  gpus: number;
  gpu_memory_bytes: number | null;
  gpu_type: string | null;
  cpus: number | null;
  memory_bytes: number | null;
  time_limit_s: number | null;
}

/** How the newest attempt ended. */
export interface ExitRecord {
  code: number | null;
  signal: number | null;
  outcome: string | null;
  error: string | null;
  sentence: string;
  returned: string[];
}

/** One job, as everybody sees it: `jupysched show --json`, the card, the sidebar. */
export interface JobRecord {
  id: number;
  user: string;
  name: string;
  state: string;
  reason: string | null;
  why: string;
  priority: string;
  request: RequestRecord;
  gpus: string[];
  nodes: string[];
  attempt: number;
  position: number | null;
  expected_start_at: string | null;
  expected_start_from: string | null;
  submitted_at: string;
  started_at: string | null;
  ended_at: string | null;
  waited_s: number | null;
  ran_s: number | null;
  exit: ExitRecord | null;
  metrics: Record<string, unknown>;
  after: number[];
  retries: number;
  directory: string;
  origin: Record<string, string>;
  mine: boolean;
  gpu_ids: string[];
  placement: string;
  preemptions: number;
}

/** One GPU (or CPU slot): what it is, who holds it, and its newest reading. */
export interface GpuRecord {
  id: string;
  node: string;
  index: number;
  label: string;
  name: string;
  kind: string;
  memory_total_bytes: number | null;
  memory_used_bytes: number | null;
  utilization_percent: number | null;
  temperature_c: number | null;
  power_w: number | null;
  power_limit_w: number | null;
  pcie_rx_bytes_per_s: number | null;
  pcie_tx_bytes_per_s: number | null;
  nvlink_rx_bytes_per_s: number | null;
  nvlink_tx_bytes_per_s: number | null;
  jobs: number[];
  drained: string;
  foreign: string[];
  group: string;
}

/** The daemon itself. */
export interface DaemonRecord {
  version: string;
  pid: number;
  mode: string;
  home: string;
  policy: string;
  started_at: string;
  gpus: number;
  kind: string;
  running: number;
  pending: number;
  held: number;
  notices: string[];
}

/** Every error of every route has this shape. */
export interface ErrorRecord {
  code: string;
  message: string;
  hint: string;
  fault: string;
}

/** One job to submit. */
export interface SpecRecord {
  name: string;
  directory?: string;
  request?: RequestRecord;
  priority?: string;
  after?: number[];
  retries?: number;
  hold?: boolean;
  origin?: Record<string, string>;
}

/** A part of the list of jobs, and how many there are in all. */
export interface JobsPage {
  jobs: JobRecord[];
  total: number;
}

/** The policy in force and those that can be set. */
export interface PolicyRecord {
  name: string;
  settings: Record<string, string>;
  known: string[];
}

/** The newest value of a job's first metric, and a few points of its way there. */
export interface LossRecord {
  job: number;
  name: string;
  value: number | null;
  step: number | null;
  epoch: number | null;
  spark: (number | null)[];
  mark: string;
}

/** Everything. Sent when a page connects, and when it fell too far behind. */
export interface Refresh {
  type: "refresh";
  epoch: string;
  seq: number;
  daemon: DaemonRecord | null;
  down: string;
  may_start: boolean;
  me: string;
  jobs: JobRow[];
  gpus: GpuRow[];
  losses: LossRecord[];
  older: number;
}

/** What differs since `since`. A page that is not at `since` asks for a refresh by connecting again. */
export interface Change {
  type: "change";
  seq: number;
  since: number;
  jobs?: JobRow[];
  forgotten?: number[];
  gpus?: GpuRow[] | null;
  losses?: LossRecord[];
  daemon?: DaemonRecord | null;
  down?: string | null;
}

/** One thing a job did to its cell's outputs. */
export interface Op {
  op: string;
  name?: string;
  text?: string;
  output?: Record<string, unknown> | null;
  display_id?: string;
  wait?: boolean;
}

/** Outputs of one attempt from byte `start` of its spool up to `end`; ask on from `end`. */
export interface Outputs {
  type: "outputs";
  job: number;
  attempt: number;
  start: number;
  end: number;
  ops: Op[];
  ended: boolean;
}

/** What a job's cell should show now, and from where to follow on. */
export interface Snapshot {
  job: number;
  attempt: number;
  end: number;
  ended: boolean;
  ops: Op[];
  clearing: boolean;
  asks: Op | null;
  card: Record<string, unknown>;
}

/** From a page: send this job's outputs from byte `start` of that attempt's spool, and go on. */
export interface Follow {
  type: "follow";
  job: number;
  attempt: number;
  start: number;
}

/** From a page: no more of this job's outputs. */
export interface Unfollow {
  type: "unfollow";
  job: number;
}

/** What to do with some jobs. */
export interface ActionAsk {
  verb: string;
  jobs: number[];
  priority: string;
}

/** What a person typed for a job's input(). `question` is its number. */
export interface AnswerAsk {
  attempt: number;
  question: number;
  value: string;
}

/** A line of %%gpujob options, to be checked by a dry run. */
export interface LineAsk {
  line: string;
}

/** One attempt as its spool directory tells it. */
export interface AttemptRecord {
  number: number;
  started_at: string | null;
  ended_at: string | null;
  outcome: string;
  error: string;
  output_bytes: number;
  max_rss_bytes: number | null;
}

/** All about one job, for its owner. */
export interface DetailRecord {
  job: JobRecord;
  cell: string;
  interpreter: string;
  cwd: string;
  environment: Record<string, string>;
  attempts: AttemptRecord[];
  files: Record<string, number>;
}

/** The points kept of one metric of one job; long series are thinned, but never their first, last, least or gaps. */
export interface SeriesRecord {
  name: string;
  steps: (number | null)[];
  epochs: (number | null)[];
  times: number[];
  values: (number | null)[];
  marks: Record<number, string>;
  total: number;
}

/** All metrics of one job. */
export interface MetricsRecord {
  job: number;
  attempt: number;
  series: SeriesRecord[];
}

export const JOB_RECORD_DEFAULTS: Required<Omit<JobRecord, "id" | "user" | "name" | "state">> = {
  "reason": null,
  "why": "",
  "priority": "normal",
  "request": {
    "gpus": 1,
    "gpu_memory_bytes": null,
    "gpu_type": null,
    "cpus": null,
    "memory_bytes": null,
    "time_limit_s": null
  },
  "gpus": [],
  "nodes": [],
  "attempt": 0,
  "position": null,
  "expected_start_at": null,
  "expected_start_from": null,
  "submitted_at": "",
  "started_at": null,
  "ended_at": null,
  "waited_s": null,
  "ran_s": null,
  "exit": null,
  "metrics": {},
  "after": [],
  "retries": 0,
  "directory": "",
  "origin": {},
  "mine": true,
  "gpu_ids": [],
  "placement": "",
  "preemptions": 0
};

export const GPU_RECORD_DEFAULTS: Required<Omit<GpuRecord, "id" | "node" | "index" | "label" | "name" | "kind">> = {
  "memory_total_bytes": null,
  "memory_used_bytes": null,
  "utilization_percent": null,
  "temperature_c": null,
  "power_w": null,
  "power_limit_w": null,
  "pcie_rx_bytes_per_s": null,
  "pcie_tx_bytes_per_s": null,
  "nvlink_rx_bytes_per_s": null,
  "nvlink_tx_bytes_per_s": null,
  "jobs": [],
  "drained": "",
  "foreign": [],
  "group": ""
};

export const OP_DEFAULTS: Required<Omit<Op, "op">> = {
  "name": "",
  "text": "",
  "output": null,
  "display_id": "",
  "wait": false
};
