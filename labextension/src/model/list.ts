/** Which jobs stand in the list, in which order, under which heads; and which of them are in sight. Pure. */

import type { JobRecord } from '../api/schema';
import { type Section, SECTIONS, sectionOf } from './states';

export interface IFilter {
  /** words that must all occur in name, user, state, reason, GPU or id */
  readonly text: string;
  readonly isMineOnly: boolean;
  readonly me: string;
  readonly folded: ReadonlySet<Section>;
}

export type Row =
  | {
      kind: 'head';
      key: string;
      section: Section;
      count: number;
      isFolded: boolean;
    }
  | { kind: 'job'; key: string; job: JobRecord };

const byId = (a: JobRecord, b: JobRecord): number => a.id - b.id;

const ORDER: Record<Section, (a: JobRecord, b: JobRecord) => number> = {
  running: byId,
  waiting: (a, b) =>
    (a.position ?? Infinity) - (b.position ?? Infinity) || byId(a, b),
  held: byId,
  ended: (a, b) =>
    Date.parse(b.ended_at ?? '') - Date.parse(a.ended_at ?? '') || b.id - a.id
};

/** Is it this user's own? An admin may change others' jobs too; they are not the admin's for that. */
export function isOwn(job: JobRecord, me: string): boolean {
  return job.mine && (me === '' || job.user === me);
}

/** Heads and jobs, top to bottom. */
export function rows(jobs: Iterable<JobRecord>, filter: IFilter): Row[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const bySection = new Map<Section, JobRecord[]>(
    SECTIONS.map(section => [section, []])
  );
  for (const job of jobs) {
    if (filter.isMineOnly && !isOwn(job, filter.me)) {
      continue;
    }
    if (words.length > 0 && !matches(job, words)) {
      continue;
    }
    bySection.get(sectionOf(job))?.push(job);
  }
  const found: Row[] = [];
  for (const section of SECTIONS) {
    const members = bySection.get(section) ?? [];
    if (members.length === 0) {
      continue;
    }
    const isFolded = filter.folded.has(section);
    found.push({
      kind: 'head',
      key: section,
      section,
      count: members.length,
      isFolded
    });
    if (!isFolded) {
      members.sort(ORDER[section]);
      for (const job of members) {
        found.push({ kind: 'job', key: String(job.id), job });
      }
    }
  }
  return found;
}

function matches(job: JobRecord, words: readonly string[]): boolean {
  const text =
    `${job.name} ${job.user} ${job.state} ${job.reason ?? ''} ${job.priority} ${job.gpus.join(' ')} ${job.nodes.join(' ')} ${job.id}`.toLowerCase();
  return words.every(word => text.includes(word));
}

export interface IWindow {
  /** first and one past the last row to draw */
  start: number;
  end: number;
  /** pixels above the first drawn row, and of all rows */
  above: number;
  total: number;
}

/** The rows in sight of a scrolled list whose rows have different heights, and a few more above and below. */
export function windowOf(
  heights: readonly number[],
  scrollTop: number,
  viewport: number,
  spare = 6
): IWindow {
  let top = 0;
  let first = -1;
  let last = heights.length;
  const tops: number[] = [];
  heights.forEach((height, index) => {
    tops.push(top);
    if (first < 0 && top + height > scrollTop) {
      first = index;
    }
    if (last === heights.length && top >= scrollTop + viewport) {
      last = index;
    }
    top += height;
  });
  const start = Math.max(0, (first < 0 ? heights.length : first) - spare);
  const end = Math.min(heights.length, last + spare);
  return { start, end, above: tops[start] ?? 0, total: top };
}
