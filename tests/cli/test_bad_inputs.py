"""Four hundred wrong inputs: each is one sentence with the right name and the right remedy, and changes nothing."""

import shlex
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.cli import main

ROWS = "".join(f"{20 + i},{i % 3},{'yes' if i % 3 else 'no'},{i % 7}\n" for i in range(60))
TABLE = f"age,city,ill,days\n{ROWS}"
FILES = {
    "t.csv": TABLE,
    "empty.csv": "",
    "blank.csv": "\n\n",
    "endless.csv": "a,b\n" + "x" * 2_100_000 + ",1\n",
    "header.csv": "age,ill\n",
    "ragged.csv": "age,ill\n1,no\n2,yes,3\n4,no\n",
    "twice.csv": "age,age,ill\n1,2,no\n3,4,yes\n",
    "case.csv": "age,Age,ill\n1,2,no\n3,4,yes\n",
    "constant.csv": "age,ill\n1,no\n2,no\n",
    "gaps.csv": "age,ill\n1,no\n2,\n3,yes\n",
    "nan.csv": "age,ill\n1,0.5\n2,nan\n3,1.5\n",
    "mixed.csv": "age,ill\n1,1\n2,2\n3,unknown\n",
    "other.csv": "age,sick\n1,no\n2,yes\n",
    "short.csv": "prediction\n0.5\n",
    "page.csv": "<!doctype html><p>no table</p>",
    "object.csv": '{"age": 1}',
    "binary.csv": b"\x00\x01\x02\x03",
    "cut.parquet": b"PAR1 and nothing more",
    "cut.arrow": b"ARROW1\0\0 and nothing more",
    "cut.xlsx": b"PK\x03\x04 and nothing more",
    "cut.jsonl": '{"age": 1\n',
    "old.xls": b"\xd0\xcf\x11\xe0 an older Excel",
    "taken.parquet": "mine",
    "taken.json": "{}",
    "notes.txt": "not a table of any kind\nreally\n",
    "ledger.txt": "not a ledger\n",
    "days/1.csv": "age,ill\n1,no\n",
    "days/2.csv": "age,sick\n1,no\n",
    "kinds/1.jsonl": '{"age": 1, "ill": "no"}\n',
    "kinds/2.jsonl": '{"age": "old", "ill": "no"}\n',
    "hollow/readme.md": "nothing\n",
    "broken.toml": "[data\n",
    "list.toml": "data = 3\n",
    "unknown.toml": '[data]\nfile = "t.csv"\nlabel = "ill"\n\n[[labels]]\nepsilons = 1\n',
    "wrong.toml": '[data]\nfile = "t.csv"\nlabel = "ill"\n\n[[labels]]\nepsilon = "much"\n',
    "surface.toml": '[data]\nfile = "t.csv"\nlabel = "ill"\n\n[[tables]]\nepsilon = 1\n',
    "absent.toml": '[data]\nfile = "absent.csv"\nlabel = "ill"\n\n[[labels]]\nepsilon = 1\n',
    "column.toml": '[data]\nfile = "t.csv"\nlabel = "sick"\n\n[[labels]]\nepsilon = 1\n',
    "utf16.csv": TABLE.encode("utf-16"),
    "utf32.csv": TABLE.encode("utf-32"),
    "utf16.jsonl": '{"age": 1, "ill": "no"}\n'.encode("utf-16"),
    "latin.jsonl": '{"age": 1, "ill": "größer"}\n'.encode("latin-1"),
    "utf16.toml": '[data]\nfile = "t.csv"\n'.encode("utf-16"),
    "latin.toml": '[data]\nfile = "größe.csv"\n'.encode("latin-1"),
    "latin.json": '{"name": "Größe"}'.encode("latin-1"),
    "latin.bags/manifest.json": '{"format": "Größe"}'.encode("latin-1"),
    "latin.safetensors": "Größe".encode("latin-1") * 10,
    "good.toml": '[data]\nfile = "t.csv"\nlabel = "ill"\n\n[[labels]]\nepsilon = 1\n',
}
PLAN = {
    "labels": "--label ill --epsilon 1",
    "bags": "--label ill --epsilon 1 --by city",
    "features": "--label ill --epsilon 1 --delta 1e-6 --features age --ranges *=0,100",
    "scores": "--label ill --epsilon 1",
    "models": "--label ill --epsilon 1 --delta 1e-6 --features age --ranges *=0,100",
}
SURFACES = tuple(PLAN)

# What every surface says alike: {s} the surface, {plan} options of a plan that it takes.
EVERY_PROTECT = [
    ("{s} protect absent.csv {plan}", "IN absent.csv does not exist; give the path of a table"),
    ("{s} protect *.tsv {plan}", "IN *.tsv matches no file; give the path of a table"),
    ("{s} protect hollow {plan}", "IN hollow is a folder without a table; it needs files that end in"),
    ("{s} protect empty.csv {plan}", "empty.csv is empty; a table needs"),
    ("{s} protect header.csv {plan}", "header.csv has no rows; a table needs at least one"),
    ("{s} protect ragged.csv {plan}", "line 3 has 3 fields and the header has 2"),
    ("{s} protect cut.parquet {plan}", "cut.parquet is not a readable Parquet file"),
    ("{s} protect t.csv {plan} --epsilon nan", "--epsilon must be a finite number > 0, or none, got 'nan'"),
    ("{s} protect t.csv {plan} --epsilon 0", "--epsilon must be a finite number > 0, or none, got '0'"),
    ("{s} protect t.csv {plan} --epsilon -1", "--epsilon must be a finite number > 0, or none, got '-1'"),
    ("{s} protect t.csv {plan} --epsilon 1e300", "--epsilon must be from 1e-9 to 1e6, got 1e+300"),
    ("{s} protect t.csv {plan} --epsilon 1e-300", "--epsilon must be from 1e-9 to 1e6, got 1e-300"),
    ("{s} protect t.csv {plan} --epsilon much", "--epsilon must be a finite number > 0, or none, got 'much'"),
    ("{s} protect t.csv {plan} --classes no", "--classes must be a list of at least two different classes"),
    ("{s} protect t.csv {plan} --unit person", "--unit must be one of"),
    ("{s} protect t.csv {plan} --rows-per-person 0", "--rows-per-person must be an integer >= 1"),
    ("{s} protect t.csv {plan} --label iil", "--label names no column 'iil'; did you mean 'ill'?"),
    ("{s} protect t.csv {plan} --out nowhere/out", "--out nowhere/out cannot be written"),
    (
        "{s} protect t.csv {plan} --out days",
        "--out days exists already; choose another path, or replace it with --force",
    ),
    ("{s} protect t.csv {plan} --ledger absent.db", "--ledger absent.db does not exist; create a ledger with: tacit"),
    ("{s} protect t.csv {plan} --ledger ledger.txt", "--ledger ledger.txt is not a ledger of tacit"),
    ("{s} protect t.csv {plan} --ledger days", "--ledger days cannot be read as a ledger: Is a directory"),
    ("{s} protect t.csv {plan} --ledger ledger.db --seed 1", "--seed must not be given with --ledger"),
    ("{s} protect t.csv {plan} --dataset visits", "--dataset requires --ledger"),
    ("{s} protect t.csv {plan} --again", "--again requires --ledger"),
    ("{s} protect t.csv {plan} --memory much", "--memory must be a size such as 2GB or 500MB, got 'much'"),
    ("{s} protect t.csv {plan} --seed -1", "--seed must be at least 0; see tacit {s} protect --help"),
    ("{s} protect t.csv {plan} --seed 1.5", "--seed must be an integer; see tacit {s} protect --help"),
    ("{s} protect utf32.csv {plan}", "utf32.csv is not a table: it is not text"),
    ("{s} protect '' {plan}", "IN must not be empty; give the path of a table"),
    ("{s} protect t.csv {plan} --out t.csv/below", "--out t.csv/below cannot be written"),
    ("{s} protect t.csv {plan} --memory -1GB", "--memory must be a size such as 2GB or 500MB, got '-1GB'"),
    ("{s} protect t.csv {plan} --color red", "No such option: --color"),
    ("{s} protect {plan}", "Missing argument 'IN'; see tacit {s} protect --help"),
]
EVERY_READER = [
    ("{s} {side} absent.parquet", "IN absent.parquet does not exist; give the path of a release"),
    ("{s} {side} hollow", "hollow is a folder without manifest.json"),
    ("{s} {side} {made} --method guess", "--method must be one of"),
    ("{s} {side} {made} --out nowhere/out", "--out nowhere/out cannot be written"),
    ("{s} {side} {made} --out taken.parquet", "--out taken.parquet exists already; choose another path, or replace"),
    ("{s} {side} {made} --out t.csv/below", "--out t.csv/below cannot be written: Not a directory"),
    ("{s} {side} {made} --out page.html", "--out page.html has the ending of HTML"),
]
NOT_UTF_8 = [
    ("labels protect utf16.jsonl {labels}", "UTF-16 encoding is not supported"),
    ("labels protect latin.jsonl {labels}", "invalid UTF-8 encoding in string"),
    ("labels learn made.labels --data utf32.csv", "utf32.csv is not a table: it is not text"),
    ("labels learn made.labels --data t.csv --test utf32.csv", "utf32.csv is not a table: it is not text"),
    ("labels attack made.labels --truth utf32.csv", "utf32.csv is not a table: it is not text"),
    ("scores protect t.csv {scores} --data utf32.csv", "utf32.csv is not a table: it is not text"),
    ("scores attack made.scores --truth utf32.csv", "utf32.csv is not a table: it is not text"),
    ("models learn made.safetensors --test utf32.csv", "utf32.csv is not a table: it is not text"),
    ("init utf32.csv --label ill", "utf32.csv is not a table: it is not text"),
    ("init t.csv --label ill --public utf32.csv", "utf32.csv is not a table: it is not text"),
    (
        "ledger create a --table utf32.csv --unit label --epsilon 1 --ledger ledger.db",
        "--table utf32.csv is not a table",
    ),
    ("audit latin.toml", "latin.toml is not TOML"),
    ("audit utf16.toml", "utf16.toml is not TOML"),
    ("audit good.toml --against latin.json", "latin.json is not the JSON of an audit"),
    ("ledger create --restore latin.json --ledger new.db", "latin.json is not an export of a ledger"),
    ("bags learn latin.bags --data t.csv", "latin.bags has a damaged manifest.json"),
    ("scores learn latin.json", "latin.json is neither Parquet nor JSON"),
    ("models learn latin.safetensors", "latin.safetensors is no safetensors file"),
    ("scores host create titanic --token x {host_files}", "utf16.csv must be a CSV file in UTF-8"),
]
AWAY = "--url http://127.0.0.1:1"
HOSTS = [
    ("scores join code", "Missing option '--name'"),
    (f"scores join code --name team {AWAY}", "http://127.0.0.1:1 cannot be reached"),
    ("scores join code --name team --url [1]", "--url must be a server's address as http://127.0.0.1:8000, got '[1]'"),
    ("scores join code --name team --url http://host:port", "--url must be a server's address"),
    ("scores submit t.csv", "--token must be given, with --token or in the environment variable TACIT_TOKEN"),
    ("scores submit t.csv --token größe", "--token must be as the server printed it"),
    (
        "scores submit absent.csv --token x",
        "FILE absent.csv does not exist; give the path of a CSV file of predictions",
    ),
    (f"scores submit t.csv --token x {AWAY}", "http://127.0.0.1:1 cannot be reached"),
    ("scores host list", "--token must be given"),
    ("scores host list --token x --url ftp://host", "--url must be a server's address"),
    (f"scores host spend --token x {AWAY}", "http://127.0.0.1:1 cannot be reached"),
    (f"scores audit --token x {AWAY}", "http://127.0.0.1:1 cannot be reached"),
    (f"scores audit --token x --max-recovered 2 {AWAY}", "--max-recovered must be a share from 0 to 1, got 2.0"),
    ("scores plan --rows many", "--rows must be an integer; see tacit scores plan --help"),
    ("scores plan --rows 10 --policy guess", "--policy must be one of"),
    ("serve --port x", "--port must be an integer; see tacit serve --help"),
    ("serve --folder t.csv --port 0", "t.csv"),
    ("serve --folder t.csv/below --port 0", "t.csv/below"),
]
NEW = "ledger create a --table t.csv --unit label --ledger ledger.db"
LEDGERS = [
    ("ledger create --ledger t.csv", "t.csv exists already; it was not changed"),
    ("ledger create --ledger t.csv/ledger.db", "ledger.db cannot be written: Not a directory; choose another path"),
    ("ledger create --ledger postgresql://me:secret@127.0.0.1:1/db", "postgresql://me:***@127.0.0.1:1/db cannot be"),
    ("ledger create --restore absent.json --ledger new.db", "the export absent.json cannot be read"),
    ("ledger create --restore t.csv --ledger new.db", "t.csv is not an export of a ledger"),
    ("ledger create a --ledger ledger.db", "a data set must have NAME, --table, --unit and --epsilon"),
    ("ledger create a --table absent.csv --unit label --epsilon 1 --ledger ledger.db", "--table absent.csv does not"),
    ("ledger create a --table t.csv --unit person --epsilon 1 --ledger ledger.db", "--unit must be one of"),
    (f"{NEW} --epsilon much", "--epsilon must be a finite number > 0, or none, got 'much'"),
    (f"{NEW} --epsilon none", "--epsilon must be a number"),
    (f"{NEW} --epsilon 1 --delta 1", "--delta must be in [0, 1), got '1'"),
    (f"{NEW} --epsilon 1 --rows-per-person 0", "--rows-per-person must be an integer >= 1, got '0'"),
    (f"{NEW} --epsilon 1 --column sick", "--column must be one of age, city, ill, days, got sick"),
    (f"{NEW} --epsilon 1 --part a:1", "--part must be NAME or NAME:START:STOP with two row numbers, got 'a:1'"),
    (f"{NEW} --epsilon 1 --part a:0:999", "part a must lie within the data's 60 rows, got stop 999"),
    ("ledger budget nobody --ledger ledger.db", "the ledger knows no data set 'nobody'"),
    ("ledger charge nobody --unit label --epsilon 1 --purpose x --ledger ledger.db", "knows no data set 'nobody'"),
    ("ledger charge nobody --unit label --epsilon 1 --ledger ledger.db", "a charge must have NAME, --unit, --epsilon"),
    ("ledger charge --void nobody/1 --ledger ledger.db", "--void requires --reason"),
    ("ledger show --ledger days", "days cannot be read as a ledger: Is a directory"),
    ("ledger export t.csv/below --ledger ledger.db", "t.csv/below cannot be written: Not a directory"),
    ("labels protect t.csv {labels} --ledger postgresql://me:secret@127.0.0.1:1/db", "cannot be reached: Connection"),
]
WITH_DELTA = ("bags", "features", "models")
WITH_DATA = (
    *(f"{s} learn made.{s}" for s in ("labels", "bags", "scores")),
    *(f"{s} attack made.{s}" for s in ("labels", "bags", "features", "scores")),
    "models attack made.safetensors",
)
ODD_OPTIONS = [
    *((f"{s} protect t.csv {PLAN[s]} --delta 1", "--delta must be in [0, 1), got '1'") for s in WITH_DELTA),
    *(
        (f"{command} --data absent.csv", "--data absent.csv does not exist; give the path of a table")
        for command in WITH_DATA
    ),
    ("init t.csv --label ill --epsilon 0", "--epsilon must be a finite number > 0"),
    ("init t.csv --label ill --surfaces tables", "--surfaces must be some of labels, bags, features, scores, models"),
    ("init t.csv --label ill --features aeg", "--features names no column 'aeg'; did you mean 'age'?"),
    ("init t.csv --label ill --out t.csv/tacit.toml", "--out t.csv/tacit.toml cannot be written: Not a directory"),
    ("audit good.toml --out t.csv/page.html", "--out t.csv/page.html cannot be written: Not a directory"),
    ("audit good.toml --out t.csv", "--out t.csv is not a page of tacit audit and is not overwritten"),
    ("audit good.toml --cache t.csv/below", "the cache t.csv/below cannot be used: Not a directory"),
    ("audit good.toml --seed x", "--seed must be an integer; see tacit audit --help"),
    ("audit good.toml --fail-above odds=nan", "odds must be a finite number above 1, such as 10, got nan"),
    ("audit good.toml --fail-above odds=inf", "odds must be a finite number above 1, such as 10, got inf"),
    ("labels protect t.csv {labels} --classes no,no", "--classes must be a list of at least two different classes"),
    ("labels protect t.csv {labels} --classes no,maybe", "must be among the declared classes"),
    ("labels protect t.csv {labels} --mechanism prior:share=2", "--mechanism prior: share must be in (0, 1), got '2'"),
    ("labels protect t.csv {labels} --mechanism prior:size=2", "--mechanism prior takes share, got 'size'"),
    ("labels protect t.csv {labels} --values 0:1", "--values must be at least two numbers in ascending order"),
    ("labels protect t.csv {labels} --epsilon none", "--epsilon must be a number: labels are not released without"),
    ("labels learn made.labels --hold-out much", "--hold-out must be a number; see tacit labels learn --help"),
    ("bags protect t.csv {bags} --epsilon none --delta 0.1", "--delta must be 0 with epsilon none"),
    ("features protect t.csv {features} --epsilon none", "--delta must be 0 with epsilon none"),
    ("bags protect t.csv {bags} --features age", "No such option: --features"),
    ("bags protect t.csv {bags} --select 1", "--select must be fewer than the 1 partitions of by, got 1"),
    ("bags protect t.csv {bags} --selection-epsilon 1", "--selection-epsilon requires select"),
    ("bags protect t.csv {bags} --unit record", "--by must declare the categories or the edges of 'city'"),
    ("features learn made.features --data t.csv", "No such option: --data"),
    ("features protect t.csv {features} --categories city", "--categories must be COL=A,B,... with different words"),
    ("scores protect t.csv {scores} --policy rounded:decimals=2", "--epsilon must be none with rounded"),
    ("models protect t.csv {models} --mechanism dp_sgd:width=0", "--mechanism dp_sgd: width must be an integer >= 1"),
    ("models learn made.safetensors --test t.csv --label sick", "--test must have the column 'sick' of true labels"),
]
OTHERS = [
    ("labels protect blank.csv {labels}", "blank.csv is empty; a table needs a header line"),
    ("labels protect twice.csv {labels}", "twice.csv has two columns named 'age'; rename one of them"),
    ("labels protect case.csv {labels}", "has columns 'age' and 'Age', the same but for case; rename one"),
    ("labels protect constant.csv {labels}", "--label names a column with one value, 'no', in all rows"),
    ("labels protect gaps.csv {labels}", "--missing must be public where label column 'ill' has"),
    ("labels protect page.csv {labels}", "page.csv is not a table: it looks like markup"),
    ("labels protect object.csv {labels}", "object.csv is not a table: it looks like JSON"),
    ("labels protect binary.csv {labels}", "binary.csv is not a table: it is not text"),
    ("labels protect cut.arrow {labels}", "cut.arrow is not a readable Arrow file"),
    ("labels protect cut.xlsx {labels}", "cut.xlsx is not a readable Excel file"),
    ("labels protect cut.jsonl {labels}", "cut.jsonl is not readable JSON"),
    ("labels protect days {labels}", "2.csv must have the columns of 1.csv, age, ill, got age, sick"),
    ("labels protect kinds {labels}", "2.jsonl must have the column 'age' as 1.jsonl has it, BIGINT, got VARCHAR"),
    ("labels protect bundled:nothing {labels}", "bundled"),
    ("labels protect nosuch://host/db#t {labels}", "nosuch://"),
    ("labels protect postgresql://me:secret@127.0.0.1:1/db#visits {labels}", "postgresql://"),
    ("labels protect old.xls {labels}", "old.xls is not a table: it is not text; give a CSV"),
    ("labels protect s3://bucket/t.parquet {labels}", "needs DuckDB's extension httpfs; install it once with"),
    ("labels protect postgresql://me:secret@127.0.0.1:1/db {labels}", "name a table or a query after it"),
    ("labels protect t.csv {labels} --out t.csv --force", "--out t.csv is an input file, which would be lost"),
    ("labels protect t.csv {labels} --out x.csv", "--out x.csv has the ending of CSV, but Parquet is written; call it"),
    (
        "labels protect t.csv {labels} --ledger ledger.db --out ledger.db --force",
        "--out ledger.db is a database, perhaps a ledger, and is not",
    ),
    ("labels protect t.csv {labels} --out s3://bucket/x.parquet", "--out s3://bucket/x.parquet is a URL; write to a"),
    ("labels protect t.csv {labels} --out new.db", "--out new.db has the ending of a database, but Parquet is written"),
    ("labels protect endless.csv --label b --epsilon 1", "line 2 is longer than 2 MB"),
    ("labels protect t.csv {labels} --out - --json", "--out must be a file with --json"),
    ("labels protect t.csv {labels} --mechanism guess", "--mechanism must be one of rr, prior, bins"),
    ("labels protect t.csv {labels} --features ill", "--features must not name the private column 'ill'"),
    ("labels protect t.csv {labels} --features aeg", "--features names no column 'aeg'; did you mean 'age'?"),
    ("labels protect t.csv {labels} --person whose", "--person names no column 'whose'"),
    ("labels protect t.csv {labels} --delta 0.1", "No such option: --delta"),
    (
        "labels protect t.csv {labels} --engine flink",
        "--engine must be one of duckdb, spark, got 'flink'; see tacit labels protect",
    ),
    ("bags protect t.csv {bags} --out -", "--out must name a folder: this release has several files"),
    ("bags protect t.csv --label ill --epsilon 1 --by town", "--by"),
    ("bags protect t.csv {bags} --min-size 0", "--min-size must be"),
    ("bags protect t.csv {bags} --small keep", "--small must be one of"),
    ("features protect t.csv --label ill --epsilon 1 --delta 1e-6 --ranges *=1,0", "--ranges must be COL=LOW,HIGH"),
    ("features protect t.csv --label ill --epsilon 1 --features age --ranges *=0,1", "--delta"),
    ("features protect t.csv {features} --select 0", "--select must be"),
    ("scores protect t.csv {scores} --metric guess", "--metric must be one of"),
    ("scores protect t.csv {scores} --policy guess", "--policy must be one of"),
    ("scores protect t.csv {scores} --submissions 0", "--submissions must be"),
    ("scores protect t.csv {scores} --data short.csv", "short.csv must have one row for each of the 60 labels"),
    ("scores protect t.csv {scores} --data absent.csv", "--data absent.csv does not exist"),
    ("scores attack", "IN or --url must be given"),
    (
        "scores protect t.csv {scores} --submissions 1000000000000",
        "--submissions must be an integer from 1 to 1,000,000",
    ),
    ("scores plan --rows 0", "rows must be"),
    ("scores plan --rows 1000000000000", "--rows must be at most 10,000,000,000"),
    ("scores plan --rows 10 --class-count 1000000000000", "--metric must have at most 1,000 classes"),
    ("scores attack --url http://127.0.0.1:1 --rows 1000000000000 --seed 1", "--rows must be at most 100,000,000"),
    ("models protect t.csv {models} --mechanism guess", "--mechanism must be one of"),
    ("models protect t.csv --label ill --epsilon 1 --features age --ranges *=0,1", "--delta"),
    ("models attack taken.parquet", "taken.parquet must end in .safetensors"),
    ("labels attack made.labels --truth absent.csv", "--truth absent.csv does not exist"),
    ("labels attack made.bags", "made.bags is a release of bags, not of labels; use tacit bags"),
    ("bags learn made.labels", "made.labels is a release of labels, not of bags; use tacit labels"),
    ("features attack made.labels", "made.labels is a release of labels, not of features; use tacit labels"),
    ("scores learn made.labels", "made.labels is not a release: it must be a file that ends in .json"),
    ("labels attack cut.parquet", "cut.parquet is a damaged Parquet file"),
    ("labels attack tampered.parquet", "bad checksum: its rows were changed or damaged since"),
    ("labels learn made.labels --test absent.csv", "--test absent.csv does not exist"),
    ("labels learn made.labels --hold-out 1", "--hold-out must be in [0, 1), got 1"),
    ("init absent.csv --label ill", "absent.csv does not exist; give the path of a table"),
    ("serve --folder t.csv", "--folder must be a folder, t.csv is a file"),
    ("init t.csv --label sick", "--label names no column 'sick'"),
    ("init t.csv", "--label must be given without a terminal"),
    ("init t.csv --label ill --out good.toml", "good.toml exists already; choose another path, or replace it with"),
    ("init t.csv --label ill --out t.csv --force", "t.csv is an input file, which would be lost"),
    ("audit absent.toml.toml", "absent.toml.toml does not exist"),
    ("audit broken.toml", "broken.toml"),
    ("audit unknown.toml", "epsilons"),
    ("audit wrong.toml", "epsilon must be a finite number > 0"),
    ("audit surface.toml", "tables"),
    ("audit absent.toml", "absent.csv does not exist"),
    ("audit column.toml", "sick"),
    ("audit good.toml --out good.toml", "--out good.toml is an input file, which would be lost"),
    ("audit good.toml --out ledger.db", "--out ledger.db"),
    ("audit good.toml --out nowhere/page.html", "--out nowhere/page.html cannot be written"),
    ("audit good.toml --surfaces tables", "tables"),
    (
        "audit good.toml --fail-above much",
        "--fail-above must be odds=NUMBER, advantage=SHARE or epsilon=NUMBER, got 'much'",
    ),
    ("audit good.toml --against absent.json", "--against absent.json does not exist"),
    ("audit good.toml --against taken.json", "taken.json is not the JSON of an audit"),
    ("ledger show --ledger absent.db", "there is no ledger at absent.db; create one with `tacit ledger create`"),
    ("ledger show --ledger ledger.txt", "ledger.txt is not a ledger of tacit"),
    ("ledger show nobody --ledger ledger.db", "nobody"),
    ("ledger create --ledger ledger.db", "ledger.db exists already"),
    ("ledger create --ledger mysql://host/books", "ledger must be a file or a postgresql:// URL, got mysql://..."),
    ("ledger export ledger.db --ledger ledger.db --force", "ledger.db is an input file, which would be lost"),
    ("ledger export taken.json --ledger ledger.db", "taken.json exists already; choose another path, or replace it"),
    ("nonsense", "No such command 'nonsense'; see tacit --help"),
    ("labels nonsense", "No such command 'nonsense'; see tacit labels --help"),
    ("serve --port 70000", "--port must be at most 65535; see tacit serve --help"),
    *NOT_UTF_8,
    *HOSTS,
    *LEDGERS,
    *ODD_OPTIONS,
]


def every_case():
    for surface in SURFACES:
        for command, said in EVERY_PROTECT:
            words = {"s": surface, "plan": PLAN[surface]}
            yield command.format(**words), said.format(**words)
        for side in ("learn", "attack"):
            for command, said in EVERY_READER:
                made = "made.safetensors" if surface == "models" else f"made.{surface}"
                words = {"s": surface, "side": side, "made": made}
                yield command.format(**words), said.format(**words)
    for command, said in OTHERS:
        yield command.format(**PLAN, host_files="--data t.csv --truth utf16.csv"), said


CASES = list(every_case())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Every wrong file, a ledger, and a release of each surface; no test changes it."""
    folder = tmp_path_factory.mktemp("inputs")
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("ledger create --ledger ledger.db")
        for surface in ("labels", "bags", "features", "scores"):
            run(f"{surface} protect t.csv {PLAN[surface]} --seed 0 --out made.{surface}")
        run("models protect t.csv --label ill --epsilon none --mechanism plain --out made.safetensors")
    whole = pq.read_table(folder / "made.labels")
    pq.write_table(whole.set_column(0, "label", pa.array(["no"] * len(whole))), folder / "tampered.parquet")
    return folder


def run(command):
    with pytest.raises(SystemExit) as end:
        main(shlex.split(command))
    return end.value.code


SPAWNED = CASES[:: len(CASES) // 6]


@pytest.mark.parametrize(("command", "said"), SPAWNED, ids=[command for command, _ in SPAWNED])
def test_a_process_ends_with_one_sentence(folder, command, said):
    program = [sys.executable, "-c", "from tacit.cli import main; main()"]
    done = subprocess.run([*program, *shlex.split(command)], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert said in done.stderr


def snapshot(folder):
    return {path.relative_to(folder): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_there_are_four_hundred():
    assert len({command for command, _ in CASES}) >= 400


@pytest.mark.parametrize(("command", "said"), CASES, ids=[command for command, _ in CASES])
def test_one_sentence_with_name_and_remedy_and_nothing_changes(folder, monkeypatch, capsys, command, said):
    monkeypatch.chdir(folder)
    before = snapshot(folder)
    code = run(command)
    out, err = capsys.readouterr()
    assert (code, out) == (2, ""), err
    assert err.count("\n") == 1, err
    assert said in err
    assert "Traceback" not in err
    assert "secret" not in err
    assert snapshot(folder) == before
