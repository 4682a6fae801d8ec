/** A Bokeh document of the server in a dock area. Its address says the theme; another theme loads it anew. */

import { IFrame } from '@jupyterlab/ui-components';

export class PanelFrame extends IFrame {
  constructor(
    private readonly _options: {
      address: string;
      query: Readonly<Record<string, string>>;
      title: string;
      isDark: boolean;
    }
  ) {
    super({
      // Our own documents from our own origin; they need their WebSocket and save files.
      sandbox: ['allow-scripts', 'allow-same-origin', 'allow-downloads']
    });
    this.addClass('jp-jupysched-panel');
    this.node.querySelector('iframe')?.setAttribute('title', _options.title);
    this._load(_options.isDark);
  }

  /** Follow the theme. */
  set isDark(isDark: boolean) {
    this._load(isDark);
  }

  private _load(isDark: boolean): void {
    const query = new URLSearchParams({
      ...this._options.query,
      theme: isDark ? 'dark' : 'light'
    });
    this.url = `${this._options.address}?${query.toString()}`;
  }
}
