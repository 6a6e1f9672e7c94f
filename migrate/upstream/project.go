package main

import "strings"

// project is a module that others wrote, and how its suite runs over File.
type project struct {
	path, version string

	uses     string   // what runs over File, for the page
	packages []string // whose tests run
	leftOut  []leftOut
	flags    []string // flags for go test
	env      []string
	edits    []edit   // what a person changes, before migrate changes the rest
	with     *project // a module that opens files for it, which is changed too

	benchPackage, bench string // where its own benchmarks are, and a regular expression for them
	ours                string // a file below testdata with one of ours, if it has none that reads
}

// leftOut is a package or a test that does not run. Packages are named from the module on.
type leftOut struct{ name, reason string }

// unavailable are modules that are candidates, and are not run.
var unavailable = []leftOut{
	{"github.com/akrylysov/pogreb", notServed},
	{"github.com/rosedblabs/wal", notServed},
	{"github.com/nutsdb/nutsdb", notServed},
	{"github.com/restic/restic", notServed},
	{"github.com/anacrolix/torrent", "it opens a file of a download for each read, so its suite maps nothing; it gives the same results as with `os.File`"},
	{"github.com/tidwall/wal", "it appends to its segments and reads them with `os.ReadFile`, so its suite maps nothing"},
}

const notServed = "the module proxy of the machine that measured does not have it"

var projects = []*project{
	{
		path: "github.com/spf13/afero", version: "v1.15.0",
		uses:     "all files of `OsFs`",
		packages: []string{"./..."},
	},
	{
		path: "github.com/syndtr/goleveldb", version: "v1.0.1-0.20220721030215-126854af5e6d",
		uses:     "tables, journals, manifests",
		packages: []string{"./leveldb", "./leveldb/storage"},
		leftOut:  []leftOut{{"other packages", "their tests keep all data in memory"}},
		edits: []edit{
			{file: "leveldb/storage/file_storage.go", old: "\t*os.File\n", new: "\t*mmapfile.File\n"},
			{file: "leveldb/storage/file_storage.go", old: "of, err := os.OpenFile(", new: "of, err := mmapfile.OpenFile(", n: 2},
			{file: "leveldb/storage/file_storage.go", old: "of, err = os.OpenFile(", new: "of, err = mmapfile.OpenFile("},
		},
		benchPackage: "./leveldb", bench: "^BenchmarkDB(Write|Put|Read|ReadReverse|Get|GetRandom|SeekRandom)$",
	},
	{
		path: "github.com/hashicorp/raft-wal", version: "v0.4.0",
		uses:     "segments",
		packages: []string{"./..."},
		edits: []edit{
			{file: "fs/file.go", old: "\tos.File\n", new: "\tmmapfile.File\n"},
			{file: "fs/fs.go", old: "f, err := os.OpenFile(", new: "f, err := mmapfile.OpenFile("},
			{file: "fs/fs.go", old: "os.O_CREATE|os.O_EXCL|os.O_RDWR, os.FileMode(0644))", new: "os.O_CREATE|os.O_EXCL|os.O_RDWR, os.FileMode(0644), int64(size))"},
			{file: "fs/fs.go", old: "fileutil.Preallocate(f, int64(size), true)", new: "error(nil)"},
		},
		benchPackage: ".", bench: "^BenchmarkOur", ours: "raftwal_bench.go",
	},
	{
		path: "go.etcd.io/bbolt", version: "v1.5.0",
		uses:     "the database file, locks and the project's own mapping included",
		packages: []string{"./..."},
		flags:    []string{"-short"},
		leftOut:  []leftOut{{"its long tests", "with them the suite takes more than five minutes"}, {"tests/dmflakey", "it needs device mapper"}, {"tests/robustness", "it needs device mapper"}, {"tests/failpoint", "it needs failpoints in the code, which another program puts there"}},
		edits: []edit{
			{file: "db.go", old: "penFile func(string, int, os.FileMode) (*os.File, error)", new: "penFile func(string, int, os.FileMode) (*mmapfile.File, error)", n: 2},
			{file: "db.go", old: "file     *os.File", new: "file     *mmapfile.File"},
			{file: "db.go", old: "db.openFile = os.OpenFile", new: "db.openFile = mmapfile.Options{}.OpenFile"},
			{file: "tx.go", old: "*os.File", new: "*mmapfile.File", n: 2},
		},
		benchPackage: ".", bench: "^BenchmarkDBBatch",
	},
	{
		path: "github.com/ethereum/go-ethereum", version: "v1.17.10",
		uses:     "the freezer: data, index and metadata of each table",
		packages: []string{"./core/rawdb/..."},
		leftOut:  []leftOut{{"other packages", "the freezer is here, and some need modules that the proxy does not have"}},
		edits: []edit{
			{file: "core/rawdb/freezer_meta.go", old: "*os.File", new: "*mmapfile.File", n: 4},
			{file: "core/rawdb/freezer_meta_test.go", old: "os.CreateTemp", new: "mmapfile.CreateTemp", n: 5},
			{file: "core/rawdb/freezer_table.go", old: "*os.File", new: "*mmapfile.File", n: 10},
			{file: "core/rawdb/freezer_utils.go", old: "*os.File", new: "*mmapfile.File", n: 5},
			{file: "core/rawdb/freezer_utils.go", old: "os.OpenFile(", new: "mmapfile.OpenFile(", n: 3},
			{file: "core/rawdb/freezer_utils.go", old: "os.CreateTemp(", new: "mmapfile.CreateTemp(", n: 2},
			{file: "core/rawdb/freezer_utils_test.go", old: "*os.File", new: "*mmapfile.File"},
		},
		benchPackage: "./core/rawdb", bench: "^Benchmark(WriteAncientBlocks|Our.*)$", ours: "freezer_bench.go",
	},
	{
		path: "github.com/go-git/go-billy/v6", version: "v6.0.0-alpha.2",
		uses:     "all files of `osfs`",
		packages: []string{"./..."},
		edits: []edit{
			{file: "osfs/os.go", old: "\t*os.File\n", new: "\t*mmapfile.File\n"},
			{file: "osfs/os_rootfs.go", old: "= fs.root.OpenFile(", new: "= mmapfile.OpenRoot(fs.root, ", n: 2},
			{file: "osfs/os_rootfs.go", old: "f *os.File", new: "f *mmapfile.File"},
			{file: "osfs/os_rootfs.go", old: "newMmapFile(f,", new: "newMmapFile(f.OS(),"},
		},
		benchPackage: "./osfs", bench: "^Benchmark(Open|Create|Readdir)$/^rootOS$",
	},
	{
		path: "github.com/go-git/go-git/v6", version: "v6.0.0-alpha.4",
		uses:     "all files of the worktree and of `.git`, through go-billy",
		packages: []string{"./..."},
		leftOut: []leftOut{
			{"plumbing/transport/ssh", "it needs the network"}, {"plumbing/transport/http", "it needs the network"},
			{"tests that clone from public hosts", "they need the network"},
		},
		flags: []string{"-skip=" + strings.Join([]string{
			"^(ExampleClone|TestFetchByHashThenResolveRevision|TestSubmodule.*)$",
			"^TestRemoteSuite$/^Test(FetchExactSHA1|FetchOfMissingObjects|List|ListPeeling)$",
			"^TestRepositorySuite$/^Test(CloneMirror|CloneWithFilter|FetchWithFiltersReal|PlainCloneWithRecurseSubmodules)$",
			"^TestWorktreeSuite$/^Test(Checkout.*SubmoduleInitialized|PullProgressWithRecursion)$",
		}, "|")},
		benchPackage: "./storage/filesystem", bench: "^BenchmarkAlternatesObjectLookup$/^EncodedObject$|" +
			"^Benchmark(GetObjectFromPackfile|PackfileIterReadContent)$/https/^$/github.com/git-fixtures/^(basic|tags).git$",
		with: &project{
			path: "github.com/go-git/go-billy/v6", version: "v6.0.0-alpha.1",
			packages: []string{"./..."},
			edits: []edit{
				{file: "osfs/os.go", old: "\t*os.File\n", new: "\t*mmapfile.File\n"},
				{file: "osfs/os_rootfs.go", old: "= fs.root.OpenFile(", new: "= mmapfile.OpenRoot(fs.root, ", n: 2},
			},
		},
	},
	{
		path: "github.com/parquet-go/parquet-go", version: "v0.32.0",
		uses:     "files that are read",
		packages: []string{"./..."},
	},
}
