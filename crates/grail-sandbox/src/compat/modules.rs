//! The modules the engine has, what is in them, and imports that cannot work.

use grail_code::{Field, Kind, Node};

use super::site::{Found, Site};
use super::{Construct, Failure};

/// A module of the engine.
pub(super) struct Module {
    pub name: &'static str,
    /// What it has.
    pub names: &'static str,
    /// What the module has on CPython and people ask for, but not here.
    pub missing: &'static str,
}

/// What to do without a module.
const INSTEAD: &[(&str, &str)] = &[
    ("abc", "leave abstract classes out: the engine has no inheritance"),
    ("bisect", "use a loop, or sort and search with `sorted` and `index`"),
    ("contextlib", "write a class with `__enter__` and `__exit__`"),
    ("copy", "use `list(…)`, `dict(…)` or a comprehension"),
    ("csv", "use `line.split(',')`, or ask for a tool that reads CSV"),
    ("decimal", "use integers (cents instead of euros) or floats"),
    ("enum", "use constants, or a dictionary of names and values"),
    ("fractions", "keep numerator and denominator as two integers, with `math.gcd`"),
    ("hashlib", "ask for a tool that hashes"),
    ("heapq", "use `sorted(…)[:n]`, or keep a sorted list"),
    ("io", "collect the text in a list and join it"),
    ("logging", "use `print`"),
    ("operator", "write a lambda: `key=lambda item: item['name']`"),
    ("random", "ask for a tool that gives random numbers"),
    ("requests", "there is no network; ask for a tool that fetches"),
    ("statistics", "compute it: `sum(values) / len(values)`"),
    ("string", "write the characters out: `'abcdefghijklmnopqrstuvwxyz'`"),
    ("subprocess", "there are no processes; ask for a tool that does the work"),
    ("textwrap", "use string methods"),
    ("threading", "use `async def` and `asyncio.gather`"),
    ("time", "use `datetime`, or ask for a tool that waits"),
    ("traceback", "use `str(error)` and `type(error).__name__`"),
    ("urllib", "there is no network; ask for a tool that fetches"),
    ("uuid", "ask for a tool that makes identifiers"),
];

/// Methods and attributes that classes have without an instance.
pub(super) const CLASS_ATTRIBUTES: &[(&str, &[&str])] = &[
    ("builtins.bool", &[]),
    ("builtins.bytes", &["fromhex"]),
    ("builtins.dict", &["fromkeys"]),
    ("builtins.float", &[]),
    ("builtins.frozenset", &[]),
    ("builtins.int", &[]),
    ("builtins.list", &[]),
    ("builtins.range", &[]),
    ("builtins.set", &[]),
    ("builtins.str", &[]),
    ("builtins.tuple", &[]),
    ("collections.Counter", &["fromkeys"]),
    ("collections.deque", &[]),
    ("datetime.date", &["fromisoformat", "today"]),
    ("datetime.datetime", &["fromisoformat", "now", "strptime"]),
    ("datetime.time", &["fromisoformat"]),
    ("datetime.timedelta", &[]),
    ("datetime.timezone", &["utc"]),
    ("itertools.chain", &[]),
    ("pathlib.Path", &[]),
];

/// What CPython's classes have without an instance and the engine's have not. All else of them are methods of instances.
pub(super) const MISSING_CLASS_ATTRIBUTES: &[&str] = &[
    "builtins.bytes.maketrans",
    "builtins.float.fromhex",
    "builtins.int.from_bytes",
    "builtins.str.maketrans",
    "datetime.date.fromordinal",
    "datetime.date.fromtimestamp",
    "datetime.date.max",
    "datetime.date.min",
    "datetime.datetime.combine",
    "datetime.datetime.fromtimestamp",
    "datetime.datetime.max",
    "datetime.datetime.min",
    "datetime.datetime.today",
    "datetime.datetime.utcfromtimestamp",
    "datetime.datetime.utcnow",
    "datetime.timedelta.max",
    "datetime.timedelta.min",
    "itertools.chain.from_iterable",
    "pathlib.Path.cwd",
    "pathlib.Path.home",
];

pub(super) const ROWS: &[Construct] = &[
    Construct {
        name: "import-module",
        title: "Modules the engine does not have",
        message: "there is no module `{}`",
        rewrite: "use a module the engine has (see `docs/reference/python-subset.md`), or ask for a tool",
        example: "import heapq
heapq.nsmallest(2, [3, 1, 2])",
        rewritten: "sorted([3, 1, 2])[:2]",
        failure: Failure::Raises("ImportError"),
        kinds: &[Kind::Import, Kind::ImportFrom],
        find: find_missing_module,
    },
    Construct {
        name: "import-name",
        title: "Names its modules do not have",
        message: "the engine has no `{}`",
        rewrite: "use what the module has: see `docs/reference/python-subset.md`",
        example: "from math import prod
prod([2, 3])",
        rewritten: "product = 1
for factor in [2, 3]:
    product *= factor
product",
        failure: Failure::Raises("ImportError"),
        kinds: &[Kind::ImportFrom],
        find: find_missing_import,
    },
    Construct {
        name: "module-attribute",
        title: "Attributes its modules do not have",
        message: "the engine has no `{}`",
        rewrite: "use what the module has: see `docs/reference/python-subset.md`",
        example: "import functools
@functools.cache
def double(x):
    return x * 2
double(2)",
        rewritten: "known = {}
def double(x):
    if x not in known:
        known[x] = x * 2
    return known[x]
double(2)",
        failure: Failure::Raises("AttributeError"),
        kinds: &[Kind::Attribute],
        find: |site| {
            let value = site.global_name(site.node.child(Field::Value)?)?;
            let module = find_module(&value)?;
            let name = site.node.child(Field::Attr)?.text();
            missing_name(site.node, module, name)
        },
    },
    Construct {
        name: "import-star",
        title: "`from … import *`",
        message: "`import *` is not supported",
        rewrite: "name what you import",
        example: "from math import *
sqrt(4)",
        rewritten: "from math import sqrt
sqrt(4)",
        failure: Failure::Always,
        kinds: &[Kind::ImportFrom],
        find: |site| {
            Found::at(site.node)
                .filter(|_| site.node.list(Field::Names).any(|alias| alias.text().starts_with('*')))
        },
    },
    Construct {
        name: "relative-import",
        title: "Relative imports",
        message: "there is no package to import from",
        rewrite: "put all code into one program",
        example: "from . import tools",
        rewritten: "def tool():
    return 1
tool()",
        failure: Failure::Raises("ImportError"),
        kinds: &[Kind::ImportFrom],
        find: |site| Found::at(site.node).filter(|_| site.node.import_level() > 0),
    },
    Construct {
        name: "method-of-class",
        title: "Methods taken from their class: `str.lower`",
        message: "`{}` cannot be taken from its class",
        rewrite: "call it on a value: `key=lambda text: text.lower()`",
        example: "sorted(['b', 'A'], key=str.lower)",
        rewritten: "sorted(['b', 'A'], key=lambda text: text.lower())",
        failure: Failure::Raises("AttributeError"),
        kinds: &[Kind::Attribute],
        find: |site| missing_class_attribute(site).filter(|found| !is_class_level(&found.subject)),
    },
    Construct {
        name: "class-attribute",
        title: "Class methods and constants the engine does not have",
        message: "the engine has no `{}`",
        rewrite: "compute it from what there is; `[item for part in parts for item in part]` stands in for `chain.from_iterable`",
        example: "import itertools
list(itertools.chain.from_iterable([[1], [2]]))",
        rewritten: "[item for part in [[1], [2]] for item in part]",
        failure: Failure::Raises("AttributeError"),
        kinds: &[Kind::Attribute],
        find: |site| missing_class_attribute(site).filter(|found| is_class_level(&found.subject)),
    },
];

pub(super) fn find_module(name: &str) -> Option<&'static Module> {
    MODULES.iter().find(|module| module.name == name)
}

fn find_missing_module(site: Site<'_>) -> Option<Found<'_>> {
    let is_missing = |name: &str| name != "__future__" && find_module(name).is_none();
    let (node, name) = match site.node.kind() {
        Kind::ImportFrom if site.node.import_level() > 0 => return None,
        Kind::ImportFrom => {
            let module = site.node.child(Field::Module)?;
            (site.node, module.text())
        }
        _ => {
            let names = site.node.list(Field::Names).filter_map(|alias| alias.child(Field::Name));
            let missing = names.into_iter().find(|name| is_missing(name.text()))?;
            (missing, missing.text())
        }
    };
    let mut found = Found::named(node, name).filter(|_| is_missing(name))?;
    let top = name.split('.').next().unwrap_or(name);
    found.hint = INSTEAD.iter().find(|(module, _)| *module == top).map(|(_, hint)| (*hint).to_owned());
    Some(found)
}

fn find_missing_import(site: Site<'_>) -> Option<Found<'_>> {
    if site.node.import_level() > 0 {
        return None;
    }
    let module = find_module(site.node.child(Field::Module)?.text())?;
    site.node.list(Field::Names).find_map(|alias| {
        let name = alias.child(Field::Name)?.text();
        missing_name(alias, module, name).filter(|_| name != "*")
    })
}

fn missing_name<'a>(node: Node<'a>, module: &Module, name: &str) -> Option<Found<'a>> {
    let is_known = name.starts_with("__") || module.names.split_whitespace().any(|known| known == name);
    Found::named(node, format!("{}.{name}", module.name)).filter(|_| !is_known)
}

fn missing_class_attribute(site: Site<'_>) -> Option<Found<'_>> {
    let class = site.global_name(site.node.child(Field::Value)?)?;
    let name = site.node.child(Field::Attr)?.text();
    let (_, known) = CLASS_ATTRIBUTES.iter().find(|(known, _)| *known == class)?;
    let subject = format!("{}.{name}", class.trim_start_matches("builtins."));
    Found::named(site.node, subject).filter(|_| !name.starts_with("__") && !known.contains(&name))
}

fn is_class_level(subject: &str) -> bool {
    MISSING_CLASS_ATTRIBUTES.iter().any(|name| name.trim_start_matches("builtins.") == subject)
}

pub(super) const MODULES: &[Module] = &[
    Module {
        name: "asyncio",
        names: "gather run",
        missing: "CancelledError Event Lock Queue Semaphore TaskGroup as_completed create_task get_event_loop sleep \
         timeout to_thread wait wait_for",
    },
    Module {
        name: "base64",
        names: "MAXBINSIZE MAXLINESIZE a85decode a85encode b16decode b16encode b32decode b32encode b32hexdecode \
         b32hexencode b64decode b64encode b85decode b85encode decodebytes encodebytes standard_b64decode \
         standard_b64encode urlsafe_b64decode urlsafe_b64encode z85decode z85encode",
        missing: "decode encode",
    },
    Module {
        name: "binascii",
        names: "Error a2b_base64 a2b_hex b2a_base64 b2a_hex crc32 hexlify unhexlify",
        missing: "Incomplete a2b_qp a2b_uu b2a_qp b2a_uu crc_hqx",
    },
    Module {
        name: "collections",
        names: "Counter defaultdict deque namedtuple",
        missing: "ChainMap OrderedDict UserDict UserList UserString",
    },
    Module {
        name: "dataclasses",
        names: "FrozenInstanceError dataclass is_dataclass",
        missing: "Field InitVar KW_ONLY MISSING asdict astuple field fields make_dataclass replace",
    },
    Module {
        name: "datetime",
        names: "date datetime time timedelta timezone",
        missing: "MAXYEAR MINYEAR UTC tzinfo",
    },
    Module {
        name: "functools",
        names: "partial reduce",
        missing: "WRAPPER_ASSIGNMENTS WRAPPER_UPDATES cache cached_property cmp_to_key lru_cache partialmethod \
         singledispatch singledispatchmethod total_ordering update_wrapper wraps",
    },
    Module {
        name: "itertools",
        names: "accumulate batched chain compress count cycle dropwhile filterfalse islice pairwise repeat starmap \
         takewhile zip_longest",
        missing: "combinations combinations_with_replacement groupby permutations product tee",
    },
    Module {
        name: "json",
        names: "JSONDecodeError dumps loads",
        missing: "JSONDecoder JSONEncoder dump load",
    },
    Module {
        name: "math",
        names: "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees e erf erfc exp exp2 \
         expm1 fabs factorial floor fmod frexp gamma gcd inf isclose isfinite isinf isnan isqrt lcm ldexp \
         lgamma log log10 log1p log2 modf nan nextafter perm pi pow radians remainder sin sinh sqrt tan tanh \
         tau trunc ulp",
        missing: "dist fma fsum hypot prod sumprod",
    },
    Module {
        name: "os",
        names: "altsep curdir devnull environ extsep fspath getenv linesep listdir makedirs mkdir name pardir remove \
         rename replace rmdir sep stat unlink",
        missing: "access chdir chmod cpu_count getcwd getpid path popen removedirs renames scandir stat_result system \
         urandom walk",
    },
    Module {
        name: "pathlib",
        names: "Path",
        missing: "PosixPath PurePath PurePosixPath PureWindowsPath UnsupportedOperation WindowsPath",
    },
    Module {
        name: "re",
        names: "A ASCII DOTALL I IGNORECASE M MULTILINE Match NOFLAG Pattern PatternError S compile error escape \
         findall finditer fullmatch match search split sub",
        missing: "DEBUG L LOCALE RegexFlag U UNICODE VERBOSE X purge subn",
    },
    Module {
        name: "sys",
        names: "platform stderr stdout version version_info",
        missing: "argv byteorder exc_info executable exit getrecursionlimit getsizeof maxsize modules path stdin",
    },
    Module {
        name: "typing",
        names: "Annotated Any Callable ClassVar Dict Final FrozenSet Generator Generic Iterable Iterator List \
         Literal Mapping Never NoReturn Optional Protocol Self Sequence Set TYPE_CHECKING Tuple Type TypeVar \
         Union",
        missing: "AnyStr AsyncIterator Awaitable Collection Concatenate Coroutine DefaultDict Deque Hashable \
         LiteralString MutableMapping MutableSequence NamedTuple NewType NotRequired ParamSpec Required Sized \
         SupportsFloat SupportsInt Text TypeAlias TypeGuard TypeIs TypedDict Unpack assert_never cast final \
         get_args get_origin get_type_hints overload override runtime_checkable",
    },
    Module {
        name: "unicodedata",
        names: "category combining is_normalized lookup name normalize unidata_version",
        missing: "UCD bidirectional decimal decomposition digit east_asian_width mirrored numeric ucd_3_2_0",
    },
];
