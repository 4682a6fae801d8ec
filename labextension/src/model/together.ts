/** Counts what is told in quick succession, so that it is told together: a sweep of jobs is one message a kind, not one a job. Pure. */

export class Together {
  /** `standsMs`: how long a message of this kind is seen; within it the next one joins it. */
  constructor(private readonly _standsMs: (kind: string) => number) {}

  /** How many of this kind were told just before this one. */
  add(kind: string, nowMs: number): number {
    const last = this._last.get(kind);
    const before =
      last !== undefined && nowMs < last.untilMs ? last.count + 1 : 0;
    this._last.set(kind, {
      count: before,
      untilMs: nowMs + this._standsMs(kind)
    });
    return before;
  }

  private readonly _last = new Map<
    string,
    { count: number; untilMs: number }
  >();
}
