//! Which names of Python's standard library and of well-known packages mean which capability.
//!
//! A name stands for everything below it unless a longer one is here too: `shutil` writes files, `shutil.which` only looks.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Capability;

/// What mentioning a name means.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    Uses(&'static [Capability]),
    /// Something harmless below a name that is not.
    Nothing,
    /// A function that opens a file. The number is the place of its mode among the arguments.
    Opens(usize),
    /// `os.open`, whose flags say what it may do.
    OpensByFlags,
    /// The mapping `os.environ`.
    Environment,
    /// A function whose first argument is a variable's name.
    ReadsVariable,
    /// `getattr` and its like.
    AsksAttribute,
    /// `operator.attrgetter` and its like.
    MakesGetter,
}

/// The effect of the longest known name that `name` is or lies below.
pub(super) fn effect_of(name: &str) -> Option<Effect> {
    let mut end = name.len();
    loop {
        if let Some(effect) = EFFECTS.get(&name[..end]) {
            return Some(*effect);
        }
        end = name[..end].rfind('.')?;
    }
}

/// Whether something below a module means something.
pub(super) fn has_effects_below(module: &str) -> bool {
    let below = |name: &String| name.strip_prefix(module).is_some_and(|rest| rest.starts_with('.'));
    EFFECTS.keys().any(below)
}

/// What a method does that has this name, whatever it is called on: the names are telling enough.
pub(super) fn effect_of_method(name: &str) -> Option<Effect> {
    static EFFECTS: LazyLock<FxHashMap<&str, Effect>> = LazyLock::new(|| by_word(METHODS));
    EFFECTS.get(name).copied()
}

/// As [`effect_of_method`], for names that mean files only where the script works with `pathlib`.
pub(super) fn effect_of_path_method(name: &str) -> Option<Effect> {
    static EFFECTS: LazyLock<FxHashMap<&str, Effect>> = LazyLock::new(|| by_word(PATH_METHODS));
    EFFECTS.get(name).copied()
}

/// Whether an attribute of this name leads from any object to its insides, and from there to everything.
pub(super) fn is_inside(name: &str) -> bool {
    static NAMES: LazyLock<FxHashSet<&str>> = LazyLock::new(|| INSIDES.split_whitespace().collect());
    NAMES.contains(name)
}

fn by_word(table: &[(&'static str, Effect)]) -> FxHashMap<&'static str, Effect> {
    table.iter().flat_map(|(names, effect)| names.split_whitespace().map(|name| (name, *effect))).collect()
}

/// Whether an attribute of this name is a module that can do everything, reached through another one: `logging.os`.
pub(super) fn is_powerful_module(name: &str) -> bool {
    [
        "os",
        "sys",
        "builtins",
        "importlib",
        "subprocess",
        "posix",
        "nt",
        "ctypes",
        "socket",
        "shutil",
        "codecs",
        "io",
        "pathlib",
        "bltns",
    ]
    .contains(&name)
}

static EFFECTS: LazyLock<FxHashMap<String, Effect>> = LazyLock::new(|| {
    let mut effects = FxHashMap::default();
    for (module, names, effect) in TABLE {
        for name in names.split_whitespace() {
            let name = match *module {
                "" => name.to_owned(),
                module => format!("{module}.{name}"),
            };
            // These are `os` under another name.
            if let Some(rest) = name.strip_prefix("os.") {
                effects.insert(format!("posix.{rest}"), *effect);
                effects.insert(format!("nt.{rest}"), *effect);
            }
            if let Some(rest) = name.strip_prefix("io.") {
                effects.insert(format!("_io.{rest}"), *effect);
            }
            effects.insert(name, *effect);
        }
    }
    effects
});

const NETWORK: Effect = Effect::Uses(&[Capability::Network]);
const SUBPROCESS: Effect = Effect::Uses(&[Capability::Subprocess]);
const READ: Effect = Effect::Uses(&[Capability::ReadFiles]);
const WRITE: Effect = Effect::Uses(&[Capability::WriteFiles]);
const NATIVE: Effect = Effect::Uses(&[Capability::Native]);
const DYNAMIC: Effect = Effect::Uses(&[Capability::Dynamic]);
const ANY_VARIABLE: Effect = Effect::Uses(&[Capability::Environment(None)]);

/// A module (or nothing), names below it, and what they mean.
#[rustfmt::skip]
const TABLE: &[(&str, &str, Effect)] = &[
    // Network: the standard library
    ("", "socket _socket socketserver ssl _ssl ftplib smtplib smtpd poplib imaplib nntplib telnetlib xmlrpc asyncore asynchat", NETWORK),
    ("urllib", "request robotparser", NETWORK),
    ("http", "client server cookiejar", NETWORK),
    ("wsgiref", "simple_server", NETWORK),
    ("asyncio", "open_connection start_server open_unix_connection start_unix_server", NETWORK),
    ("logging.handlers", "SocketHandler DatagramHandler SysLogHandler SMTPHandler HTTPHandler", NETWORK),
    // Network: packages
    ("", "requests requests_toolbelt httpx httpcore aiohttp urllib3 httplib2 niquests treq pycurl websocket websockets paramiko asyncssh \
          boto3 botocore aioboto3 google googleapiclient azure grpc zmq pika kafka redis pymongo motor psycopg psycopg2 asyncpg mysql \
          pymysql aiomysql sqlalchemy elasticsearch opensearchpy stripe twilio sendgrid openai anthropic mistralai cohere slack_sdk \
          discord telegram tweepy praw github gitlab feedparser yfinance scrapy twisted tornado flask fastapi uvicorn hypercorn \
          starlette django sanic bottle gql dns scapy ldap3 paho nats cassandra influxdb_client supabase notion_client", NETWORK),
    ("", "selenium playwright pyppeteer fabric pip webbrowser", Effect::Uses(&[Capability::Network, Capability::Subprocess])),
    // Other programs
    ("", "subprocess _posixsubprocess _winapi multiprocessing _multiprocessing pty venv ensurepip distutils setuptools sh plumbum pexpect \
          ptyprocess invoke psutil git", SUBPROCESS),
    ("os", "system popen fork forkpty startfile kill killpg execl execle execlp execlpe execv execve execvp execvpe spawnl spawnle \
            spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe posix_spawn posix_spawnp _execvpe _spawnvef", SUBPROCESS),
    ("asyncio", "create_subprocess_exec create_subprocess_shell subprocess", SUBPROCESS),
    ("concurrent.futures", "ProcessPoolExecutor process", SUBPROCESS),
    // Files
    ("builtins", "open", Effect::Opens(1)),
    ("io", "open FileIO", Effect::Opens(1)),
    ("io", "open_code", READ),
    ("codecs", "open", Effect::Opens(1)),
    ("", "gzip.open bz2.open lzma.open gzip.GzipFile bz2.BZ2File lzma.LZMAFile tarfile.open tarfile.TarFile zipfile.ZipFile", Effect::Opens(1)),
    ("os", "open", Effect::OpensByFlags),
    ("os", "remove unlink rename renames replace mkdir makedirs rmdir removedirs link symlink chmod chown lchown fchmod fchown truncate \
            ftruncate mknod mkfifo utime setxattr removexattr chroot sendfile copy_file_range", WRITE),
    ("os", "listdir scandir walk fwalk stat lstat access readlink statvfs getxattr listxattr chdir fchdir", READ),
    ("os.path", "exists lexists isfile isdir islink ismount getsize getmtime getatime getctime realpath samefile", READ),
    ("os.path", "expandvars", ANY_VARIABLE),
    ("shutil", "copy copy2 copyfile copyfileobj copymode copystat copytree rmtree move chown make_archive unpack_archive", WRITE),
    ("shutil", "which disk_usage", READ),
    ("", "tempfile sqlite3 dbm mmap fileinput shelve", WRITE),
    ("", "glob linecache filecmp netrc pyclbr pwd grp tokenize.open inspect.getsource inspect.getsourcelines inspect.getfile", READ),
    ("", "py_compile compileall zipapp mailbox readline", WRITE),
    ("", "wave.open", Effect::Opens(1)),
    ("logging", "FileHandler", WRITE),
    ("logging.handlers", "RotatingFileHandler TimedRotatingFileHandler WatchedFileHandler", WRITE),
    ("xml.etree.ElementTree", "parse iterparse", READ),
    ("xml.dom", "minidom.parse pulldom.parse", READ),
    ("configparser", "ConfigParser RawConfigParser", READ),
    ("importlib", "resources", READ),
    ("pandas", "read_csv read_table read_excel read_json read_html read_xml read_parquet read_feather read_orc read_sas read_spss read_stata \
                read_fwf ExcelFile", READ),
    ("pandas", "ExcelWriter HDFStore read_hdf", WRITE),
    ("pandas", "read_pickle", Effect::Uses(&[Capability::ReadFiles, Capability::Dynamic])),
    ("numpy", "load loadtxt genfromtxt fromfile memmap", READ),
    ("numpy", "save savez savez_compressed savetxt", WRITE),
    ("PIL", "Image.open ImageFont.truetype", READ),
    ("", "openpyxl xlsxwriter docx pptx pypdf PyPDF2 fitz aiofiles watchdog", WRITE),
    // Environment variables
    ("os", "environ environb", Effect::Environment),
    ("os", "getenv getenvb putenv unsetenv", Effect::ReadsVariable),
    ("", "dotenv", Effect::Uses(&[Capability::ReadFiles, Capability::Environment(None)])),
    // Native code
    ("", "ctypes _ctypes cffi _cffi_backend winreg os.add_dll_directory sys.setdlopenflags", NATIVE),
    // Code that the text does not show
    ("builtins", "exec eval compile __import__ globals locals breakpoint __loader__ __spec__ __build_class__", DYNAMIC),
    ("", "importlib imp _imp runpy code codeop pickle _pickle cPickle marshal dill cloudpickle joblib pkgutil zipimport pdb bdb trace \
          profile cProfile timeit doctest site gc test idlelib lib2to3 jsonpickle RestrictedPython _xxsubinterpreters _interpreters", DYNAMIC),
    ("builtins", "getattr vars", Effect::AsksAttribute),
    // What `enum` calls `builtins`.
    ("", "bltns", DYNAMIC),
    ("operator", "attrgetter methodcaller", Effect::MakesGetter),
    ("importlib", "metadata", Effect::Nothing),
    ("importlib.metadata", "entry_points EntryPoint EntryPoints", DYNAMIC),
    ("string", "Formatter", DYNAMIC),
    ("", "unittest pytest pydoc modulefinder annotationlib jinja2 mako numexpr pandas.eval sympy", DYNAMIC),
    ("", "tkinter _tkinter turtle IPython", Effect::Uses(&[Capability::Subprocess, Capability::Dynamic])),
    ("concurrent", "interpreters", DYNAMIC),
    ("types", "FunctionType LambdaType CodeType ModuleType", DYNAMIC),
    ("typing", "get_type_hints ForwardRef", DYNAMIC),
    ("logging", "config", DYNAMIC),
    ("shelve", "open Shelf DbfilenameShelf", Effect::Uses(&[Capability::WriteFiles, Capability::Dynamic])),
    ("sys", "modules meta_path path path_hooks _getframe _getframemodulename _current_frames settrace setprofile addaudithook", DYNAMIC),
    ("inspect", "currentframe stack trace getouterframes getinnerframes getmodule getclosurevars getattr_static getmembers getmembers_static get_annotations", DYNAMIC),
    ("yaml", "load load_all unsafe_load unsafe_load_all full_load full_load_all Loader UnsafeLoader FullLoader", DYNAMIC),
    ("torch", "load", DYNAMIC),
];

#[rustfmt::skip]
const METHODS: &[(&str, Effect)] = &[
    ("read_text read_bytes iterdir rglob", READ),
    ("write_text write_bytes unlink rmdir mkdir touch symlink_to hardlink_to to_csv to_excel to_parquet to_pickle to_feather savefig", WRITE),
    ("create_connection create_server create_datagram_endpoint create_unix_connection create_unix_server sock_connect", NETWORK),
    ("subprocess_exec subprocess_shell", SUBPROCESS),
    ("load_extension enable_load_extension", NATIVE),
    ("load_module exec_module find_spec load_module_from_spec", DYNAMIC),
];

#[rustfmt::skip]
const PATH_METHODS: &[(&str, Effect)] = &[
    ("exists is_file is_dir is_symlink stat lstat glob walk resolve samefile readlink owner group", READ),
    ("rename chmod lchmod copy copy_into move move_into", WRITE),
];

const INSIDES: &str = "__globals__ __builtins__ __subclasses__ __base__ __bases__ __mro__ mro __code__ __closure__ __self__ __import__ \
    __getattribute__ __getattr__ __loader__ __spec__ __reduce__ __reduce_ex__ __dict__ __func__ f_globals f_locals f_builtins f_back f_code tb_frame \
    gi_frame gi_code cr_frame cr_code ag_frame ag_code __objclass__ __kwdefaults__ __annotate__";
