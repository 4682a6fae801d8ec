/** What the server refuses, in its own words: a code, a sentence and a hint (the same codes as in core/errors.py). */

import type { ErrorRecord } from './schema';

export class ApiError extends Error {
  constructor(
    readonly code: string,
    readonly sentence: string,
    readonly hint = ''
  ) {
    super(hint ? `${sentence} ${hint}` : sentence);
    this.name = 'ApiError';
  }

  /** From the body of a response; what is no ErrorRecord (a proxy's page, say) becomes one sentence. */
  static from(status: number, body: unknown): ApiError {
    if (isRecord(body)) {
      return new ApiError(body.code, body.message, body.hint);
    }
    return new ApiError(
      status === 404 ? 'extension_missing' : 'http',
      status === 404
        ? 'The Jupyter server has no jupysched extension.'
        : `The Jupyter server answered with status ${status}.`
    );
  }

  /** From whatever was thrown. */
  static of(reason: unknown): ApiError {
    if (reason instanceof ApiError) {
      return reason;
    }
    const text = reason instanceof Error ? reason.message : String(reason);
    return new ApiError(
      'network',
      text || 'The Jupyter server does not answer.'
    );
  }
}

function isRecord(body: unknown): body is ErrorRecord {
  return (
    typeof body === 'object' &&
    body !== null &&
    'code' in body &&
    'message' in body &&
    typeof body.message === 'string'
  );
}
