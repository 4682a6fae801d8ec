import { PluginIDs } from '../ids';

describe('plug-in ids', () => {
  it('start with the name of the package, as JupyterLab looks up settings by it', () => {
    for (const id of Object.values(PluginIDs)) {
      expect(id).toMatch(/^jupysched:[a-z-]+$/);
    }
  });
});
