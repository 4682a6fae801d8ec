import { Together } from '../../model/together';

test('what is told while the last of its kind is seen joins it', () => {
  const told = new Together(kind => (kind === 'error' ? 15_000 : 5000));
  expect(told.add('success', 0)).toBe(0);
  expect(told.add('success', 4000)).toBe(1);
  expect(told.add('error', 4000)).toBe(0);
  expect(told.add('success', 8999)).toBe(2);
  expect(told.add('error', 18_000)).toBe(1);
  expect(told.add('success', 13_999)).toBe(0);
});
