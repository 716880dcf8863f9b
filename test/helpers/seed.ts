import fc from 'fast-check';

/** The same ground in every run, so that CI means the same for everybody; RELAIS_PROPERTY_SEED=random searches new ground. */
const seed = process.env['RELAIS_PROPERTY_SEED'] ?? '20261118';
if (seed !== 'random') fc.configureGlobal({ seed: Number(seed) });
