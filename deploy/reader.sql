-- The role of the read service, which can only SELECT what it answers from: no tokens, runs, sessions or sources.
-- Repeat it after each `losslake init`, which may have made new tables; docker-compose.yml does so at each start:
--
--   READER_PASSWORD=… psql "postgresql://losslake@host/losslake" --file deploy/reader.sql

\set ON_ERROR_STOP on
SET client_min_messages = warning;
\getenv password READER_PASSWORD
\if :{?password}
\else
    \warn 'set READER_PASSWORD'
    \quit
\endif

BEGIN;

SELECT 'CREATE ROLE losslake_reader' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'losslake_reader') \gexec
ALTER ROLE losslake_reader WITH LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'password';
ALTER ROLE losslake_reader SET default_transaction_read_only = on;

REVOKE CREATE ON SCHEMA public FROM PUBLIC;
SELECT format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()) \gexec
GRANT USAGE ON SCHEMA public TO losslake_reader;
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM losslake_reader;
GRANT SELECT ON losslake_version, losslake_releases, losslake_release_snapshots, iceberg_tables TO losslake_reader;

-- Of the ledger, notices of withdrawn and erased trials: its other rows have folders and logs of the operator.
GRANT SELECT ON losslake_ledger TO losslake_reader;
ALTER TABLE losslake_ledger ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS losslake_notices ON losslake_ledger;
CREATE POLICY losslake_notices ON losslake_ledger FOR SELECT TO losslake_reader
    USING (outcome IN ('withdrawn', 'restored', 'erased'));

COMMIT;
