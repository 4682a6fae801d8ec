-- one row an event; never updated, deleted only when its job is forgotten
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY,
    job INTEGER,
    kind TEXT NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS events_job ON events (job);
PRAGMA user_version = 1;
