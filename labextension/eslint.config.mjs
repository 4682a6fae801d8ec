// What a machine can hold of STYLE: strict types, no `any`, no default exports but plug-in lists, no console.log, no cycles,
// and imports that point one way only: plugins -> widgets -> model -> api.

import jupyter from '@jupyter/eslint-plugin';
import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript';
import { importX } from 'eslint-plugin-import-x';
import hooks from 'eslint-plugin-react-hooks';
import typescript from 'typescript-eslint';

const TYPESCRIPT = ['**/*.ts', '**/*.tsx'];

/** Folders of src/, highest floor first. A file may import from its own floor and from those below. */
const FLOORS = ['plugins', 'widgets', 'model', 'api'];

const upward = FLOORS.slice(1).map((floor, below) => ({
  target: `./src/${floor}`,
  from: FLOORS.slice(0, below + 1).map(above => `./src/${above}`),
  message: `${floor}/ stands below ${FLOORS.slice(0, below + 1).join('/, ')}/: imports point down only.`
}));

export default typescript.config(
  { ignores: ['lib', 'node_modules', 'coverage', '*.js', '*.mjs', 'style'] },
  ...typescript.configs.strictTypeChecked.map(rules => ({
    ...rules,
    files: TYPESCRIPT
  })),
  ...jupyter.configs.recommended,
  {
    files: TYPESCRIPT,
    plugins: { 'import-x': importX, 'react-hooks': hooks },
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.test.json'],
        tsconfigRootDir: import.meta.dirname
      }
    },
    settings: {
      ...importX.flatConfigs.typescript.settings,
      'import-x/resolver-next': [
        createTypeScriptImportResolver({ project: './tsconfig.json' })
      ]
    },
    rules: {
      'import-x/no-cycle': 'error',
      'import-x/no-default-export': 'error',
      'import-x/no-restricted-paths': [
        'error',
        {
          zones: [
            ...upward,
            // Plug-ins meet only through tokens.
            {
              target: './src/plugins',
              from: './src/plugins',
              message: 'Plug-ins meet only through tokens.'
            }
          ]
        }
      ],
      'no-console': ['error', { allow: ['warn'] }],
      eqeqeq: 'error',
      'react-hooks/rules-of-hooks': 'error',
      'react-hooks/exhaustive-deps': 'error',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true }
      ],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_' }
      ],
      // Interfaces of JupyterLab start with I, and their tokens bear the same name on purpose.
      '@typescript-eslint/no-redeclare': 'off',
      // Lumino's signals take a method and its owner: connect(this._onChange, this).
      '@typescript-eslint/unbound-method': 'off',
      // What a plug-in shows is small and shown at once: a second round trip would cost more than it saves.
      'jupyter/prefer-lazy-imports': 'off',
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { fixStyle: 'inline-type-imports' }
      ]
    }
  },
  // Tests speak for themselves.
  {
    files: ['src/__tests__/**'],
    rules: {
      'jupyter/no-untranslated-string': 'off',
      '@typescript-eslint/no-base-to-string': 'off'
    }
  },
  // The list of plug-ins is what JupyterLab loads, by its default export.
  { files: ['src/index.ts'], rules: { 'import-x/no-default-export': 'off' } },
  // The pure parts import no Jupyter package, so that their tests need nothing.
  {
    files: ['src/model/fold.ts', 'src/model/format.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              group: ['@jupyterlab/*', '@lumino/*', 'react'],
              message: 'fold and format are pure.'
            }
          ]
        }
      ]
    }
  }
);
