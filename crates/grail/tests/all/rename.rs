//! `grail code rename`, `move`, `usages` and `symbols` on a small shop.

use crate::scratch::Scratch;

fn shop() -> Scratch {
    Scratch::new(&[
        ("grail.toml", ""),
        ("shop/__init__.py", "from .core import price\n"),
        (
            "shop/core.py",
            "class Order:\n    def total(self, rate=1): return price(self) * rate\n\n\ndef price(order, *, tax=1):\n    return tax\n",
        ),
        (
            "shop/web.py",
            "from shop.core import Order, price as p\n\ndef view(order: Order):\n    return p(order, tax=2), order.total(rate=3)\n",
        ),
    ])
}

#[test]
fn a_rename_is_shown_as_a_diff_and_written_on_request() {
    let shop = shop();
    insta::assert_snapshot!(shop.run(&["code", "rename", "--name", "shop.core.price", "cost"]), @r"
    --- a/shop/__init__.py
    +++ b/shop/__init__.py
    @@ -1 +1 @@
    -from .core import price
    +from .core import cost
    --- a/shop/core.py
    +++ b/shop/core.py
    @@ -1,6 +1,6 @@
     class Order:
    -    def total(self, rate=1): return price(self) * rate
    +    def total(self, rate=1): return cost(self) * rate
     
     
    -def price(order, *, tax=1):
    +def cost(order, *, tax=1):
         return tax
    --- a/shop/web.py
    +++ b/shop/web.py
    @@ -1,4 +1,4 @@
    -from shop.core import Order, price as p
    +from shop.core import Order, cost as p
     
     def view(order: Order):
         return p(order, tax=2), order.total(rate=3)
    ! 3 files would change; `--write` applies it
    exit 0
    ");
    assert_eq!(shop.read("shop/__init__.py"), "from .core import price\n");
    assert_eq!(
        shop.run(&["code", "rename", "shop/core.py:5:5", "cost", "--write"]),
        "! changed 3 files\nexit 0\n"
    );
    assert_eq!(shop.read("shop/__init__.py"), "from .core import cost\n");
}

#[test]
fn a_parameter_is_renamed_by_name_with_its_keywords() {
    let shop = shop();
    shop.run(&["code", "rename", "--name", "shop.core.price.tax", "vat", "--write"]);
    assert!(shop.read("shop/core.py").contains("def price(order, *, vat=1):\n    return vat\n"));
    assert!(shop.read("shop/web.py").contains("p(order, vat=2)"));
}

#[cfg(feature = "types")]
#[test]
fn a_method_is_renamed_by_the_types_of_its_receivers() {
    let shop = shop();
    assert_eq!(
        shop.run(&["code", "rename", "--name", "shop.core.Order.total", "sum_up", "--write"]),
        "! changed 2 files\nexit 0\n"
    );
    assert!(shop.read("shop/web.py").contains("order.sum_up(rate=3)"));
}

#[test]
fn what_cannot_be_renamed_is_one_line_and_a_hint() {
    let shop = shop();
    let refused = |arguments: &[&str]| shop.run(&[&["code", "rename"], arguments].concat());
    insta::assert_snapshot!(refused(&["--name", "shop.core.price", "class"]), @r"
    ! error: `class` is not a valid name: it is a keyword
    ! hint: a name starts with a letter or `_` and is no keyword
    exit 2
    ");
    insta::assert_snapshot!(refused(&["--name", "shop.core.price", "Order"]), @r"
    ! error: cannot rename `price` to `Order`: shop/core.py:1:7 already binds `Order`
    ! hint: choose another name, or rename that one first
    exit 2
    ");
    insta::assert_snapshot!(refused(&["shop/core.py:2:3", "x"]), @r"
    ! error: there is no name at shop/core.py:2:3
    ! hint: point at a variable, function, class, parameter, attribute or import
    exit 2
    ");
    insta::assert_snapshot!(refused(&["shop/core.py:99:1", "x"]), @r"
    ! error: `shop/core.py` has no line 99 with a column 1
    exit 2
    ");
    insta::assert_snapshot!(refused(&["shop/core.py", "x"]), @r"
    ! error: `shop/core.py` is not a place
    ! hint: write `path/to/file.py:LINE:COLUMN`, or name the symbol with `--name package.module.name`
    exit 2
    ");
    insta::assert_snapshot!(refused(&["shop/missing.py:1:1", "x"]), @r"
    ! error: `shop/missing.py` does not exist
    ! hint: paths are relative to the current directory
    exit 2
    ");
}

#[test]
fn a_module_moves_with_its_importers() {
    let shop = shop();
    assert_eq!(
        shop.run(&["code", "rename", "--module", "shop.core", "shop.pricing.engine", "--write"]),
        "! changed 3 files\nexit 0\n"
    );
    assert_eq!(shop.read("shop/__init__.py"), "from .pricing.engine import price\n");
    assert!(shop.read("shop/web.py").starts_with("from shop.pricing.engine import Order"));
    assert!(shop.path("shop/pricing/engine.py").exists() && !shop.path("shop/core.py").exists());
}

#[test]
fn a_symbol_moves_to_another_module() {
    let shop = shop();
    shop.run(&["code", "move", "shop.core.price", "shop.web", "--write"]);
    assert_eq!(shop.read("shop/__init__.py"), "from .web import price\n");
    insta::assert_snapshot!(shop.run(&["code", "move", "shop.core.Order", "shop.nowhere"]), @r"
    ! error: the project has no module `shop.nowhere`
    ! hint: modules are named as they are imported; see `src` in grail.toml
    exit 2
    ");
}

#[test]
fn usages_and_symbols_are_listed() {
    let shop = shop();
    insta::assert_snapshot!(shop.run(&["code", "usages", "--name", "shop.core.price"]), @r"
    shop/__init__.py:1:19: from .core import price
    shop/core.py:2:37: def total(self, rate=1): return price(self) * rate
    shop/core.py:5:5: def price(order, *, tax=1):
    shop/web.py:1:30: from shop.core import Order, price as p
    ! 4 usages of `price`
    exit 0
    ");
    insta::assert_snapshot!(shop.run(&["code", "symbols", "shop/core.py"]), @r"
    shop/core.py
        1  class Order
        2    def total(self, rate=1)
        5  def price(order, *, tax=1)
    exit 0
    ");
}
