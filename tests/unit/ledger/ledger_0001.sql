BEGIN TRANSACTION;
CREATE TABLE accounts (
	dataset VARCHAR(100) NOT NULL, 
	unit VARCHAR(100), 
	neighboring VARCHAR(40), 
	epsilon_cap BIGINT NOT NULL, 
	epsilon_spent BIGINT NOT NULL, 
	delta_cap BIGINT NOT NULL, 
	delta_spent BIGINT NOT NULL, 
	PRIMARY KEY (dataset), 
	CONSTRAINT epsilon_cap_not_negative CHECK (epsilon_cap >= 0), 
	CONSTRAINT epsilon_spent_not_negative CHECK (epsilon_spent >= 0), 
	CONSTRAINT epsilon_spent_within_cap CHECK (epsilon_spent <= epsilon_cap), 
	CONSTRAINT delta_cap_not_negative CHECK (delta_cap >= 0), 
	CONSTRAINT delta_spent_not_negative CHECK (delta_spent >= 0), 
	CONSTRAINT delta_spent_within_cap CHECK (delta_spent <= delta_cap)
);
INSERT INTO "accounts" VALUES('rand-hie','person','replace_one',2000000000,750000000,1000000000000,100000000000);
INSERT INTO "accounts" VALUES('toy','person','replace_one',2500000000,100000000,0,0);
CREATE TABLE entries (
	seq INTEGER NOT NULL, 
	time VARCHAR(20) NOT NULL, 
	kind VARCHAR(10) NOT NULL, 
	dataset VARCHAR(100) NOT NULL, 
	request VARCHAR(64), 
	reservation INTEGER, 
	unit VARCHAR(100), 
	neighboring VARCHAR(40), 
	epsilon BIGINT NOT NULL, 
	delta BIGINT NOT NULL, 
	facts TEXT NOT NULL, 
	prev VARCHAR(64) NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	PRIMARY KEY (seq), 
	CONSTRAINT entries_once_each UNIQUE (reservation, kind), 
	CONSTRAINT entries_reservation FOREIGN KEY(reservation) REFERENCES entries (seq), 
	UNIQUE (hash)
);
INSERT INTO "entries" VALUES(1,'2026-11-21T06:24:43Z','grant','rand-hie',NULL,NULL,NULL,NULL,1000000000,0,'{}','0000000000000000000000000000000000000000000000000000000000000000','86251cb734d96443dc8c7760ccbd4ace0c0712d9bd9303642697ffb01dfb0dec');
INSERT INTO "entries" VALUES(2,'2026-11-21T06:24:43Z','grant','rand-hie',NULL,NULL,'person',NULL,2000000000,1000000000000,'{}','86251cb734d96443dc8c7760ccbd4ace0c0712d9bd9303642697ffb01dfb0dec','4f805fd20eed4c8134fffb63b6544708a683f105fd316842569255255ffba4bb');
INSERT INTO "entries" VALUES(3,'2026-11-21T06:24:43Z','grant','toy',NULL,NULL,NULL,NULL,2500000000,0,'{}','4f805fd20eed4c8134fffb63b6544708a683f105fd316842569255255ffba4bb','f13d1d565db27375031a0698c4c7595dbe40f3df45b76466c3371bcd4b472979');
INSERT INTO "entries" VALUES(4,'2026-11-21T06:24:43Z','reserve','rand-hie','6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b',NULL,'person','replace_one',500000000,0,'{"method":"pcls"}','f13d1d565db27375031a0698c4c7595dbe40f3df45b76466c3371bcd4b472979','c885f4dc44f0f1be50226a06a989824f0b5c9dee9cad0662c1364108d8fe2d98');
INSERT INTO "entries" VALUES(5,'2026-11-21T06:24:43Z','reserve','rand-hie','d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35',NULL,'person','replace_one',250000000,100000000000,'{"method":"pcls"}','c885f4dc44f0f1be50226a06a989824f0b5c9dee9cad0662c1364108d8fe2d98','9a932a81a8a949dce82c662521464f26e60d7b8a7f9684b244fcc48459df2317');
INSERT INTO "entries" VALUES(6,'2026-11-21T06:24:43Z','reserve','rand-hie','4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce',NULL,'person','replace_one',333333334,0,'{"method":"pcls"}','9a932a81a8a949dce82c662521464f26e60d7b8a7f9684b244fcc48459df2317','abb631d8f8358387ae2750f1afd3cec31c9125abb549fb6d8493160ebb939373');
INSERT INTO "entries" VALUES(7,'2026-11-21T06:24:43Z','reserve','toy','4b227777d4dd1fc61c6f884f48641d02b4d121d3fd328cb08b5531fcacdabf8a',NULL,'person','replace_one',100000000,0,'{"method":"pcls"}','abb631d8f8358387ae2750f1afd3cec31c9125abb549fb6d8493160ebb939373','4689cad98905a0a019cfc6c1aedf3ff8895040a762e3abb30b41f9f156d76cee');
INSERT INTO "entries" VALUES(8,'2026-11-21T06:24:43Z','touch','rand-hie','6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b',4,NULL,NULL,0,0,'{}','4689cad98905a0a019cfc6c1aedf3ff8895040a762e3abb30b41f9f156d76cee','487bdee29a33a4315456ce6e94f1804c54982ccb11087e4c28d0026e9887db75');
INSERT INTO "entries" VALUES(9,'2026-11-21T06:24:43Z','release','rand-hie','6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b',4,NULL,NULL,0,0,'{"release_sha256":"aed6cbbe621d94bd02a9b85bd636d371c2039ffdda7da09615ae28e8d19e51f7"}','487bdee29a33a4315456ce6e94f1804c54982ccb11087e4c28d0026e9887db75','95bbf595065d8f4fc7032d366ac510efaabdd1f75dd77535b1fac15917b4c2e9');
INSERT INTO "entries" VALUES(10,'2026-11-21T06:24:43Z','touch','rand-hie','d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35',5,NULL,NULL,0,0,'{}','95bbf595065d8f4fc7032d366ac510efaabdd1f75dd77535b1fac15917b4c2e9','30c37e8880e24570d0b5ad80819f4249d2b06b5ae4421a6b7fabc0cef9777057');
INSERT INTO "entries" VALUES(11,'2026-11-21T06:24:43Z','lost','rand-hie','d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35',5,NULL,NULL,0,0,'{}','30c37e8880e24570d0b5ad80819f4249d2b06b5ae4421a6b7fabc0cef9777057','7916fa0e0e0a0ae3c5f47754a7dc2b608eac96f0a26af24bd5161eb8424a9f72');
INSERT INTO "entries" VALUES(12,'2026-11-21T06:24:43Z','cancel','rand-hie','4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce',6,NULL,NULL,-333333334,0,'{}','7916fa0e0e0a0ae3c5f47754a7dc2b608eac96f0a26af24bd5161eb8424a9f72','1ddb1bb18ecd95f150636d4d605605e469c8acc92bc9fac1ca90dcbea575923d');
INSERT INTO "entries" VALUES(13,'2026-11-21T06:24:43Z','touch','toy','4b227777d4dd1fc61c6f884f48641d02b4d121d3fd328cb08b5531fcacdabf8a',7,NULL,NULL,0,0,'{}','1ddb1bb18ecd95f150636d4d605605e469c8acc92bc9fac1ca90dcbea575923d','bc9bb48b8a672fdcdb4af46f6205f85a5be7d658ef74684d32e026456e8446a7');
CREATE TABLE head (
	id INTEGER NOT NULL, 
	seq INTEGER NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT head_is_one_row CHECK (id = 1)
);
INSERT INTO "head" VALUES(1,13,'bc9bb48b8a672fdcdb4af46f6205f85a5be7d658ef74684d32e026456e8446a7');
CREATE TABLE ledger_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT ledger_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "ledger_version" VALUES('0001');
CREATE TABLE releases (
	entry INTEGER NOT NULL, 
	request VARCHAR(64) NOT NULL, 
	text TEXT NOT NULL, 
	PRIMARY KEY (entry), 
	CONSTRAINT releases_entry FOREIGN KEY(entry) REFERENCES entries (seq)
);
INSERT INTO "releases" VALUES(9,'6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b','{"answer":1}');
CREATE INDEX entries_dataset ON entries (dataset);
CREATE INDEX releases_request ON releases (request);
CREATE TRIGGER entries_no_update BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER entries_no_delete BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER releases_no_update BEFORE UPDATE ON releases BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER releases_no_delete BEFORE DELETE ON releases BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER accounts_no_delete BEFORE DELETE ON accounts BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER head_no_delete BEFORE DELETE ON head BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
COMMIT;
