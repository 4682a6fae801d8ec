/** The page's one event stream: connects, comes back after a cut, resumes where it was, follows outputs of jobs. */

import type { IDisposable } from '@lumino/disposable';
import { type ISignal, Signal } from '@lumino/signaling';

import type { Change, Follow, Outputs, Refresh, Unfollow } from './schema';

/** The first and the longest pause before another try, in milliseconds. */
const RETRY_MS = [300, 10_000] as const;

/** The part of WebSocket that is used; what a test puts in its place. */
export interface ISocket {
  onopen: ((event: Event) => void) | null;
  onmessage: ((event: MessageEvent<string>) => void) | null;
  onclose: ((event: CloseEvent) => void) | null;
  send(text: string): void;
  close(): void;
}

export interface IStreamOptions {
  /** Opens a socket. The query says from where to resume. */
  open: (query: string) => ISocket;
  /** Calls back after some milliseconds; what it returns calls off. */
  later?: (callback: () => void, ms: number) => () => void;
}

interface IFollower {
  attempt: number;
  /** the byte of the spool from which the next outputs are wanted */
  at: number;
  take: (outputs: Outputs) => void;
}

const defaultLater = (callback: () => void, ms: number): (() => void) => {
  const id = setTimeout(callback, ms);
  return () => {
    clearTimeout(id);
  };
};

export class EventStream implements IDisposable {
  constructor(options: IStreamOptions) {
    this._open = options.open;
    this._later = options.later ?? defaultLater;
    this._connect();
  }

  /** Every refresh and change, in order and without a gap. */
  get message(): ISignal<this, Refresh | Change> {
    return this._message;
  }

  get isConnected(): boolean {
    return this._isConnected;
  }

  get connectionChanged(): ISignal<this, boolean> {
    return this._connectionChanged;
  }

  /** Outputs of an attempt from byte `start` on, each once, also across a cut. Dispose to end; ends by itself with the attempt. */
  follow(
    job: number,
    attempt: number,
    start: number,
    take: (outputs: Outputs) => void
  ): IDisposable {
    const follower: IFollower = { attempt, at: start, take };
    this._followers.set(job, follower);
    this._askToFollow(job, follower);
    const isCurrent = (): boolean => this._followers.get(job) === follower;
    return {
      get isDisposed(): boolean {
        return !isCurrent();
      },
      dispose: () => {
        if (isCurrent()) {
          this._followers.delete(job);
          const unfollow: Unfollow = { type: 'unfollow', job };
          this._send(unfollow);
        }
      }
    };
  }

  /** Connect again at once, for instance when the page is looked at again. */
  hurry(): void {
    if (!this._isConnected && this._callOff !== null) {
      this._callOff();
      this._callOff = null;
      this._pause = RETRY_MS[0];
      this._connect();
    }
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this._callOff?.();
    this._followers.clear();
    this._socket?.close();
    Signal.clearData(this);
  }

  private _connect(): void {
    const query =
      this._epoch === ''
        ? ''
        : `?epoch=${encodeURIComponent(this._epoch)}&seq=${this._seq}`;
    const socket = this._open(query);
    this._socket = socket;
    socket.onopen = () => {
      this._pause = RETRY_MS[0];
      this._setConnected(true);
      for (const [job, follower] of this._followers) {
        this._askToFollow(job, follower);
      }
    };
    socket.onmessage = event => {
      this._receive(JSON.parse(event.data) as Refresh | Change | Outputs);
    };
    socket.onclose = () => {
      if (this._socket !== socket || this._isDisposed) {
        return;
      }
      this._socket = null;
      this._setConnected(false);
      this._callOff = this._later(() => {
        this._callOff = null;
        this._connect();
      }, this._pause);
      this._pause = Math.min(this._pause * 2, RETRY_MS[1]);
    };
  }

  private _receive(message: Refresh | Change | Outputs): void {
    if (message.type === 'outputs') {
      this._hand(message);
      return;
    }
    if (message.type === 'refresh') {
      this._epoch = message.epoch;
    } else if (message.since !== this._seq) {
      // Something was missed: only a refresh is right now.
      this._epoch = '';
      this._socket?.close();
      return;
    }
    this._seq = message.seq;
    this._message.emit(message);
  }

  private _hand(outputs: Outputs): void {
    const follower = this._followers.get(outputs.job);
    if (
      follower === undefined ||
      follower.attempt !== outputs.attempt ||
      follower.at !== outputs.start
    ) {
      return; // asked for before a cut, and asked for again since
    }
    follower.at = outputs.end;
    if (outputs.ended) {
      this._followers.delete(outputs.job);
    }
    follower.take(outputs);
  }

  private _askToFollow(job: number, follower: IFollower): void {
    const ask: Follow = {
      type: 'follow',
      job,
      attempt: follower.attempt,
      start: follower.at
    };
    this._send(ask);
  }

  private _send(said: Follow | Unfollow): void {
    if (this._isConnected) {
      this._socket?.send(JSON.stringify(said));
    }
  }

  private _setConnected(isConnected: boolean): void {
    if (this._isConnected !== isConnected) {
      this._isConnected = isConnected;
      this._connectionChanged.emit(isConnected);
    }
  }

  private readonly _open: (query: string) => ISocket;
  private readonly _later: (callback: () => void, ms: number) => () => void;
  private readonly _followers = new Map<number, IFollower>();
  private readonly _message = new Signal<this, Refresh | Change>(this);
  private readonly _connectionChanged = new Signal<this, boolean>(this);
  private _socket: ISocket | null = null;
  private _callOff: (() => void) | null = null;
  private _pause: number = RETRY_MS[0];
  private _isConnected = false;
  private _isDisposed = false;
  private _epoch = '';
  private _seq = -1;
}
