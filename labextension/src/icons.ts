/** Our icons, drawn in the colours of JupyterLab's theme. */

import { LabIcon } from '@jupyterlab/ui-components';

const svg = (body: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><g class="jp-icon3" fill="#616161">${body}</g></svg>`;

/** A chip with its pins: jobs and GPUs. */
export const gpuIcon = new LabIcon({
  name: 'jupysched:gpu',
  svgstr: svg(
    '<path fill-rule="evenodd" d="M8 2h2v3h4V2h2v3h1a2 2 0 0 1 2 2v1h3v2h-3v4h3v2h-3v1a2 2 0 0 1-2 2h-1v3h-2v-3h-4v3H8v-3H7a2 2 0 0 1-2-2v-1H2v-2h3v-4H2V8h3V7a2 2 0 0 1 2-2h1zM7 7v10h10V7zm2 2h6v6H9z"/>'
  )
});

/** A falling line. */
export const lossIcon = new LabIcon({
  name: 'jupysched:loss',
  svgstr: svg(
    '<path d="M3 3h2v16h16v2H3z"/><path d="M7 5c1 6 3.6 9.6 7 10.8 1.9.7 4 .9 7 .9v-2c-2.8 0-4.6-.2-6.3-.8C12 12.9 9.9 9.8 9 4.7z"/>'
  )
});

/** A cell on its way into a queue. */
export const queueIcon = new LabIcon({
  name: 'jupysched:queue',
  svgstr: svg(
    '<path d="M3 5h12v2H3zM3 10h12v2H3zM3 15h8v2H3z"/><path d="M16 13l6 4-6 4z"/>'
  )
});
