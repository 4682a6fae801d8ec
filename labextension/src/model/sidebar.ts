/** What a person has done to the list: filter, folded parts, chosen jobs. Owned by the sidebar; commands read the choice. */

import { type ISignal, Signal } from '@lumino/signaling';

import type { Section } from './states';

export class SidebarModel {
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get text(): string {
    return this._text;
  }

  set text(text: string) {
    this._text = text;
    this._changed.emit();
  }

  get isMineOnly(): boolean {
    return this._isMineOnly;
  }

  set isMineOnly(isMineOnly: boolean) {
    this._isMineOnly = isMineOnly;
    this._changed.emit();
  }

  get folded(): ReadonlySet<Section> {
    return this._folded;
  }

  toggle(section: Section): void {
    const folded = new Set(this._folded);
    if (!folded.delete(section)) {
      folded.add(section);
    }
    this._folded = folded;
    this._changed.emit();
  }

  /** Jobs chosen, in the order of choosing. */
  get chosen(): readonly number[] {
    return [...this._chosen];
  }

  isChosen(job: number): boolean {
    return this._chosen.has(job);
  }

  /** The job on which the keyboard stands. */
  get current(): number | null {
    return this._current;
  }

  /** Choose this one alone. */
  choose(job: number): void {
    this._chosen = new Set([job]);
    this._anchor = job;
    this._current = job;
    this._changed.emit();
  }

  /** Add it to the choice, or take it out. */
  toggleChoice(job: number): void {
    if (!this._chosen.delete(job)) {
      this._chosen.add(job);
    }
    this._anchor = job;
    this._current = job;
    this._changed.emit();
  }

  /** Choose everything between the last choice and this one, in the order of the list. */
  chooseTo(job: number, order: readonly number[]): void {
    const from = order.indexOf(this._anchor ?? job);
    const to = order.indexOf(job);
    if (from < 0 || to < 0) {
      this.choose(job);
      return;
    }
    this._chosen = new Set(
      order.slice(Math.min(from, to), Math.max(from, to) + 1)
    );
    this._current = job;
    this._changed.emit();
  }

  /** Move the keyboard's place without choosing. */
  moveTo(job: number): void {
    this._current = job;
    this._changed.emit();
  }

  clear(): void {
    this._chosen = new Set();
    this._anchor = null;
    this._changed.emit();
  }

  private readonly _changed = new Signal<this, void>(this);
  private _text = '';
  private _isMineOnly = false;
  private _folded: ReadonlySet<Section> = new Set();
  private _chosen = new Set<number>();
  private _anchor: number | null = null;
  private _current: number | null = null;
}
