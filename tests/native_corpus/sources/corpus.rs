// Functions of every kind that rustc treats in its own way. Each counts its calls: what a breakpoint on it has to
// count too.

use std::collections::BTreeMap;
use std::ops::Add;
use std::panic;
use std::sync::atomic::{AtomicI64, Ordering};

macro_rules! functions {
    ($($id:ident $name:literal)*) => {
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy)]
        pub enum Id { $($id),* }
        pub const NAMES: &[&str] = &[$($name),*];
        pub static CALLS: [AtomicI64; NAMES.len()] = [const { AtomicI64::new(0) }; NAMES.len()];
    };
}

functions! {
    clamp_sum "corpus::clamp_sum"
    twice "corpus::twice"
    use_ "corpus::use_it"
    total "corpus::total"
    walk "corpus::walk"
    walk_one "corpus::walk_one"
    walk_two "corpus::walk_two"
    largest "corpus::largest"
    square_area "corpus::Square::area"
    circle_area "corpus::Circle::area"
    grown "corpus::Square::grown"
    legs "corpus::Shape::legs"
    add "corpus::Point::add"
    drop "corpus::Dog::drop"
    bark "corpus::Dog::bark"
    guarded "corpus::guarded"
    lookup "corpus::lookup"
    fail_above "corpus::fail_above"
    try_it "corpus::try_it"
    kind_of "corpus::kind_of"
    nested "corpus::nested"
    second "corpus::second"
    first "corpus::first"
    leading "corpus::leading"
    wide "corpus::wide"
    joined "corpus::joined"
    deep "corpus::inner::deep"
    plain_c "corpus_plain_c"
}

#[inline(always)]
fn count(id: Id) {
    CALLS[id as usize].fetch_add(1, Ordering::Relaxed);
}

#[no_mangle]
pub extern "C" fn corpus_plain_c(value: i64) -> i64 {
    count(Id::plain_c);
    value * 3
}

pub trait Shape {
    fn area(&self) -> i64;
    fn legs(&self) -> i64 {
        count(Id::legs);
        self.area() % 5
    }
}

pub struct Square {
    side: i64,
}

pub struct Circle {
    radius: i64,
}

impl Square {
    pub fn grown(&self, by: i64) -> Square {
        count(Id::grown);
        let side = self.side + by;
        Square { side }
    }
}

impl Shape for Square {
    fn area(&self) -> i64 {
        count(Id::square_area);
        self.side * self.side
    }
}

impl Shape for Circle {
    #[inline(never)]
    fn area(&self) -> i64 {
        count(Id::circle_area);
        self.radius * self.radius * 3
    }
}

pub struct Point {
    x: i64,
    y: i64,
}

impl Add for Point {
    type Output = Point;
    fn add(self, other: Point) -> Point {
        count(Id::add);
        Point { x: self.x + other.x, y: self.y + other.y }
    }
}

pub struct Dog {
    name: String,
}

impl Dog {
    #[inline(never)]
    pub fn bark(&self, times: i64) -> String {
        let mut out = String::new();
        count(Id::bark);
        for _ in 0..times {
            out += &self.name;
        }
        out
    }
}

impl Drop for Dog {
    fn drop(&mut self) {
        count(Id::drop);
        self.name.clear();
    }
}

#[inline]
fn clamp_sum(a: i64, b: i64) -> i64 {
    count(Id::clamp_sum);
    let sum = a + b;
    if sum > 100 {
        return 100;
    }
    sum
}

#[inline(always)]
fn twice(value: i64) -> i64 {
    count(Id::twice);
    value * 2 + 1
}

#[inline(never)]
fn use_it(a: i64) -> i64 {
    count(Id::use_);
    twice(clamp_sum(a, 7)) ^ 5
}

#[inline(never)]
fn total(values: &[i64]) -> i64 {
    let mut sum = 0;
    count(Id::total);
    for value in values {
        sum = clamp_sum(sum, *value);
    }
    sum
}

fn walk(values: &[i64]) -> i64 {
    count(Id::walk);
    values.iter().enumerate().map(|(index, value)| index as i64 * value).sum()
}

#[inline(never)]
fn walk_one(n: i64) -> i64 {
    count(Id::walk_one);
    walk(&[n, 2, 3, 4])
}

#[inline(never)]
fn walk_two(n: i64) -> i64 {
    let values = vec![3; n as usize];
    count(Id::walk_two);
    walk(&values) + walk(&values[1..])
}

fn largest<T: PartialOrd + Copy>(values: &[T]) -> T {
    let mut best = values[0];
    count(Id::largest);
    for value in values {
        if *value > best {
            best = *value;
        }
    }
    best
}

#[inline(never)]
fn guarded(text: Option<&str>) -> i64 {
    count(Id::guarded);
    match text {
        None => -1,
        Some(text) => (text.to_string() + "!").len() as i64,
    }
}

#[inline(never)]
fn lookup(table: &BTreeMap<String, i64>, key: &str) -> i64 {
    count(Id::lookup);
    *table.get(key).unwrap_or(&-1)
}

#[inline(never)]
fn fail_above(value: i64, limit: i64) -> i64 {
    count(Id::fail_above);
    if value > limit {
        panic::panic_any(value);
    }
    value
}

#[inline(never)]
fn try_it(value: i64) -> i64 {
    count(Id::try_it);
    match panic::catch_unwind(|| fail_above(value, 1)) {
        Ok(value) => value,
        Err(_) => -1,
    }
}

#[inline(never)]
fn kind_of(value: i64) -> &'static str {
    count(Id::kind_of);
    match value % 5 {
        0 => "zero",
        1 => "one",
        2 => "two",
        3 => "three",
        _ => "many",
    }
}

#[inline(never)]
fn nested(n: i64) -> String {
    count(Id::nested);
    if n < 1 {
        return String::from("x");
    }
    format!("({})", nested(n - 1))
}

// Each begins with what was inlined into it.
#[inline]
fn second(value: i64) -> i64 {
    count(Id::second);
    value + 1
}

#[inline]
fn first(start: i64) -> i64 {
    let more = second(start);
    count(Id::first);
    more * 2
}

#[inline(never)]
fn leading(given: i64) -> i64 {
    let more = first(given);
    count(Id::leading);
    more - 1
}

#[inline(never)]
#[allow(clippy::too_many_arguments)]
fn wide(a: i64, b: i64, c: f32, d: f64, e: i64, f: i64, g: i64, h: i64, i: &str) -> f64 {
    let room = [a as u8; 5000];
    count(Id::wide);
    (a + b) as f64 + c as f64 + d + (e + f + g + h) as f64 + i.len() as f64 + room[(a & 1023) as usize] as f64
}

#[inline(never)]
fn joined(parts: &[&str]) -> String {
    let mut text = String::new();
    count(Id::joined);
    for part in parts {
        text += part;
    }
    text
}

mod inner {
    pub fn deep(value: i64) -> i64 {
        super::count(super::Id::deep);
        value - 1
    }
}

// What Python calls, for every layer.
pub fn run(n: i64) -> i64 {
    panic::set_hook(Box::new(|_| {}));
    let mut sum = 0;
    let table = BTreeMap::from([(String::from("a"), 1), (String::from("b"), 2)]);
    for i in 0..n {
        let values = vec![i, 30, 90];
        sum += use_it(i) + total(std::hint::black_box(&values)) + walk_one(i) + walk_two(i + 2);
        sum += largest(&[1, i, 3]) + largest(&[1.5, 2.5 * i as f64]) as i64;
        let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square { side: i }.grown(1)), Box::new(Circle { radius: i })];
        sum += shapes.iter().map(|shape| shape.area() + shape.legs()).sum::<i64>();
        sum += (Point { x: i, y: 1 } + Point { x: 2, y: i }).x;
        let dog = Dog { name: String::from("rex") };
        sum += dog.bark(i).len() as i64 + guarded(if i % 2 == 1 { Some("text") } else { None });
        sum += lookup(&table, if i % 2 == 1 { "a" } else { "c" }) + try_it(i) + kind_of(i).len() as i64;
        sum += nested(i).len() as i64 + leading(i) + inner::deep(i) + corpus_plain_c(i);
        sum += wide(i, 2, 3.0, 4.0, 5, 6, 7, 8, "text") as i64 + joined(&["text", "text"]).len() as i64;
    }
    sum
}

pub fn counts() -> String {
    let rows = NAMES.iter().zip(&CALLS).map(|(name, calls)| format!("\"{}\": {}", name, calls.load(Ordering::Relaxed)));
    format!("{{{}}}", rows.collect::<Vec<_>>().join(", "))
}
