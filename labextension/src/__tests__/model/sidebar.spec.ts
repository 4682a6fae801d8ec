import { SidebarModel } from '../../model/sidebar';

describe('the choice', () => {
  it('is one job, or several, or a stretch of the list', () => {
    const model = new SidebarModel();
    model.choose(2);
    model.toggleChoice(5);
    expect(model.chosen).toEqual([2, 5]);
    model.chooseTo(3, [1, 2, 3, 4, 5]);
    expect(model.chosen).toEqual([3, 4, 5]);
    model.clear();
    expect(model.chosen).toEqual([]);
  });
});
