// SPDX-License-Identifier: Apache-2.0

//! Closures, generics and iterators over crates with deep inlining, for tests/symbol_check. Never run.

use std::collections::{BTreeMap, HashMap};

trait Take {
    fn take(&mut self, word: &str);
}

#[derive(Default)]
struct Counter<K: Ord + From<String>> {
    words: BTreeMap<K, usize>,
}

impl<K: Ord + From<String>> Take for Counter<K> {
    fn take(&mut self, word: &str) {
        *self.words.entry(K::from(word.to_lowercase())).or_insert(0) += word.len();
    }
}

fn walk(value: &serde_json::Value, take: &mut dyn FnMut(&str)) {
    match value {
        serde_json::Value::String(text) => take(text),
        serde_json::Value::Array(items) => items.iter().for_each(|item| walk(item, take)),
        serde_json::Value::Object(items) => items.values().for_each(|item| walk(item, take)),
        other => take(&other.to_string()),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words = regex::Regex::new(r"(?P<word>\p{L}+)(-\d{1,3})?")?;
    let mut counter = Counter::<String>::default();
    let mut lengths: HashMap<usize, Vec<String>> = HashMap::new();

    for argument in std::env::args().skip(1) {
        let value: serde_json::Value = serde_json::from_str(&argument)?;
        walk(&value, &mut |text| {
            for found in words.captures_iter(text) {
                counter.take(&found["word"]);
                lengths.entry(found["word"].len()).or_default().push(found["word"].to_owned());
            }
        });
    }
    let threads: Vec<_> = lengths
        .into_iter()
        .map(|(length, mut list)| {
            std::thread::spawn(move || {
                list.sort_by(|a, b| b.cmp(a));
                (length, list.join(" "))
            })
        })
        .collect();
    for thread in threads {
        println!("{:?}", thread.join().map_err(|_| "a thread died")?);
    }
    println!("{:?}", counter.words);
    Ok(())
}
