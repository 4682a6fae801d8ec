/** One function a route. Takes the server's settings, never makes them; raises ApiError and nothing else. */

import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

import { ApiError } from './errors';
import { jobOf } from './refill';
import type {
  ActionAsk,
  AnswerAsk,
  DaemonRecord,
  DetailRecord,
  JobRecord,
  JobRow,
  JobsPage,
  Outputs,
  Snapshot
} from './schema';

export class ApiClient {
  constructor(readonly serverSettings: ServerConnection.ISettings) {}

  startDaemon(): Promise<DaemonRecord> {
    return this._request('daemon', { method: 'POST', body: '{}' });
  }

  async jobs(options: { limit: number; offset: number }): Promise<JobsPage> {
    const page = await this._request<{ jobs: JobRow[]; total: number }>(
      `jobs?limit=${options.limit}&offset=${options.offset}`
    );
    return { jobs: page.jobs.map(jobOf), total: page.total };
  }

  act(ask: ActionAsk): Promise<JobRecord[]> {
    return this._request('actions', {
      method: 'POST',
      body: JSON.stringify(ask)
    });
  }

  /** What would become of a job with these options of %%gpujob. */
  dryRun(line: string): Promise<JobRecord> {
    return this._request('dry-run', {
      method: 'POST',
      body: JSON.stringify({ line })
    });
  }

  detail(job: number): Promise<DetailRecord> {
    return this._request(`jobs/${job}/detail`);
  }

  outputs(job: number): Promise<Snapshot> {
    return this._request(`jobs/${job}/outputs`);
  }

  answer(job: number, ask: AnswerAsk): Promise<boolean> {
    return this._request(`jobs/${job}/answer`, {
      method: 'POST',
      body: JSON.stringify(ask)
    });
  }

  /** Output from byte `start` of an attempt on; ask again from its `end`. */
  log(job: number, attempt: number, start: number): Promise<Outputs> {
    return this._request(`jobs/${job}/log?attempt=${attempt}&start=${start}`);
  }

  private async _request<T>(path: string, init: RequestInit = {}): Promise<T> {
    const url = URLExt.join(this.serverSettings.baseUrl, 'jupysched/api', path);
    let response: Response;
    try {
      response = await ServerConnection.makeRequest(
        url,
        init,
        this.serverSettings
      );
    } catch (reason) {
      throw ApiError.of(reason);
    }
    let body: unknown;
    try {
      body = await response.json();
    } catch {
      throw ApiError.from(response.status, null);
    }
    if (!response.ok) {
      throw ApiError.from(response.status, body);
    }
    return body as T;
  }
}
