package jobs

// feedTriggers insert the events into the feed. A job that has ended changes once more when it receives the report of a
// rejudging.
const (
	onQueued  = `CREATE TRIGGER feed_queued AFTER INSERT ON jobs FOR EACH ROW WHEN (NEW.state = 0) `
	onRunning = `CREATE TRIGGER feed_running AFTER UPDATE OF attempt ON jobs
FOR EACH ROW WHEN (NEW.attempt > OLD.attempt) `
	onEnded = `CREATE TRIGGER feed_ended AFTER UPDATE OF finished ON jobs
FOR EACH ROW WHEN (NEW.finished > 0 AND NEW.finished <> OLD.finished) `
	onTest = `CREATE TRIGGER feed_test AFTER INSERT ON events FOR EACH ROW `

	addQueued  = `INSERT INTO feed (job, number) VALUES (NEW.seq, 1);`
	addRunning = `INSERT INTO feed (job, number) VALUES (NEW.seq, NEW.attempt << 20);`
	addEnded   = `INSERT INTO feed (job, number) VALUES (NEW.seq, (NEW.attempt << 20) + 1048575);`
	addTest    = `INSERT INTO feed (job, number) VALUES (NEW.job, NEW.number);`

	sqliteFeed = `INSERT INTO feed (position, job, number)
VALUES (CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 0, 0);
` + onQueued + `BEGIN ` + addQueued + ` END;
` + onRunning + `BEGIN ` + addRunning + ` END;
` + onEnded + `BEGIN ` + addEnded + ` END;
` + onTest + `BEGIN ` + addTest + ` END;`

	postgresFeed = `SELECT setval('feed_position_seq', (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT);
INSERT INTO feed (job, number) VALUES (0, 0);
CREATE FUNCTION feed_queued() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ` + addQueued + ` RETURN NULL; END $$;
CREATE FUNCTION feed_running() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ` + addRunning + ` RETURN NULL; END $$;
CREATE FUNCTION feed_ended() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ` + addEnded + ` RETURN NULL; END $$;
CREATE FUNCTION feed_test() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ` + addTest + ` RETURN NULL; END $$;
` + onQueued + `EXECUTE FUNCTION feed_queued();
` + onRunning + `EXECUTE FUNCTION feed_running();
` + onEnded + `EXECUTE FUNCTION feed_ended();
` + onTest + `EXECUTE FUNCTION feed_test();`
)
