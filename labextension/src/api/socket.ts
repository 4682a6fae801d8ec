/** Opens our WebSocket with the server's settings: base URL, token, and the WebSocket class that Lab was given. */

import { URLExt } from '@jupyterlab/coreutils';
import type { ServerConnection } from '@jupyterlab/services';

import type { ISocket } from './stream';

export function openSocket(
  settings: ServerConnection.ISettings,
  query: string
): ISocket {
  let url = URLExt.join(settings.wsUrl, 'jupysched/api/stream') + query;
  if (settings.appendToken && settings.token !== '') {
    url += `${query === '' ? '?' : '&'}token=${encodeURIComponent(settings.token)}`;
  }
  return new settings.WebSocket(url);
}
