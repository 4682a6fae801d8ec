/**
 * Whose turn it is to write a job's outputs where several pages have one document open (jupyter-collaboration). Each page tells the
 * others which cells its kernel connection writes and which jobs it writes itself; of those who could, one does. Pure: awareness is
 * given.
 */

/** The part of a shared document's awareness that is used. */
export interface IAwareness {
  readonly clientID: number;
  getStates(): Map<number, Record<string, unknown>>;
  setLocalStateField(field: string, value: unknown): void;
  on(name: 'change', heard: (change: { added: number[] }) => void): void;
  off(name: 'change', heard: (change: { added: number[] }) => void): void;
}

interface ITold {
  cells: string[];
  jobs: number[];
}

const FIELD = 'jupysched';

export class Turns {
  constructor(
    /** null where nobody shares the document */
    private readonly _awareness: IAwareness | null,
    private readonly _changed: () => void
  ) {
    this._tell();
    this._awareness?.on('change', this._onChange);
  }

  /** May there be other pages, of which this one has not heard yet? */
  get isShared(): boolean {
    return this._awareness !== null;
  }

  /** The kernel connection of this page writes these cells. */
  set cells(cells: string[]) {
    if (cells.join() !== this._told.cells.join()) {
      this._told = { ...this._told, cells };
      this._tell();
    }
  }

  /** May this page write the job's outputs into that cell? */
  isMine(job: number, cell: string): boolean {
    const others = this._others();
    if (others.some(([, told]) => told.cells.includes(cell))) {
      return false;
    }
    const me = this._awareness?.clientID ?? 0;
    const writing = others.filter(([, told]) => told.jobs.includes(job));
    if (writing.length > 0) {
      // Two began at once: the smaller number goes on.
      return this._told.jobs.includes(job) && writing.every(([id]) => me < id);
    }
    return this._told.jobs.includes(job) || others.every(([id]) => me < id);
  }

  /** This page writes the job's outputs from now on. */
  begin(job: number): void {
    if (!this._told.jobs.includes(job)) {
      this._told = { ...this._told, jobs: [...this._told.jobs, job] };
      this._tell();
    }
  }

  /** It does so no longer. */
  end(job: number): void {
    if (this._told.jobs.includes(job)) {
      this._told = {
        ...this._told,
        jobs: this._told.jobs.filter(id => id !== job)
      };
      this._tell();
    }
  }

  dispose(): void {
    this._awareness?.off('change', this._onChange);
  }

  private readonly _onChange = ({ added }: { added: number[] }): void => {
    // Who comes is told by nobody what was said before.
    if (added.some(id => id !== this._awareness?.clientID)) {
      this._tell();
    }
    this._changed();
  };

  private _others(): [number, ITold][] {
    const found: [number, ITold][] = [];
    this._awareness?.getStates().forEach((state, id) => {
      const told = state[FIELD] as ITold | undefined;
      if (id !== this._awareness?.clientID && told !== undefined) {
        found.push([id, told]);
      }
    });
    return found;
  }

  private _tell(): void {
    this._awareness?.setLocalStateField(FIELD, this._told);
  }

  private _told: ITold = { cells: [], jobs: [] };
}
