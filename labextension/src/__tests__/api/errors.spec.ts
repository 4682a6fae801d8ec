import { ApiError } from '../../api/errors';

describe('an error of the server', () => {
  it('speaks in the words of the daemon', () => {
    const body = {
      code: 'not_yours',
      message: 'Job 3 belongs to bob.',
      hint: 'Ask them.',
      fault: 'user'
    };
    expect(ApiError.from(403, body).message).toBe(
      'Job 3 belongs to bob. Ask them.'
    );
  });

  it('becomes one sentence where a proxy answered', () => {
    expect(ApiError.from(502, '<html>').message).toBe(
      'The Jupyter server answered with status 502.'
    );
    expect(ApiError.from(404, null).code).toBe('extension_missing');
  });
});
