//! A browser without a window: Chromium, led by its driver over HTTP (W3C WebDriver).
//!
//! A start costs several seconds of processor time, so tests use the same browsers one after the other. Each test's
//! proxy has a port of its own. A page's storage belongs to its port, so one test does not see that of another.

use std::ops::Deref;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Condvar, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::http::Http;
use crate::process::{Folder, Process};
use crate::server::free_port;
use crate::wait;

/// So many keep two cores busy. One more would only cost its start.
const BROWSERS_MAX: usize = 3;

/// The browsers of this test process.
static POOL: Mutex<Pool> = Mutex::new(Pool {
    waiting: Vec::new(),
    leased: 0,
});

/// Signalled when a test returns its browser, or when a browser has ended.
static RETURNED: Condvar = Condvar::new();

/// Browsers, of which each test takes one.
struct Pool {
    /// Started browsers that no test uses.
    waiting: Vec<Browser>,
    /// The number of tests that have a browser.
    leased: usize,
}

impl Pool {
    /// Waits until a test may have a browser. None: no started browser is free, and the caller starts one.
    fn take() -> Option<Browser> {
        let pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = RETURNED.wait_while(pool, |pool| pool.leased == BROWSERS_MAX);
        let mut pool = pool.unwrap_or_else(PoisonError::into_inner);
        pool.leased += 1;
        pool.waiting.pop()
    }

    fn give_back(browser: Option<Browser>) {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        pool.leased -= 1;
        pool.waiting.extend(browser);
        RETURNED.notify_one();
    }
}

/// A browser leased to one test. When the test has failed, the browser ends with it.
#[derive(Debug)]
pub struct LeasedBrowser(Option<Browser>);

impl Deref for LeasedBrowser {
    type Target = Browser;

    fn deref(&self) -> &Browser {
        self.0.as_ref().expect("it is there until the drop")
    }
}

impl Drop for LeasedBrowser {
    fn drop(&mut self) {
        let browser = self.0.take().filter(|_| !std::thread::panicking());
        let forgets = |browser: &Browser| browser.forget_user();
        Pool::give_back(browser.inspect(forgets));
    }
}

/// One browser with one page.
#[derive(Debug)]
pub struct Browser {
    /// Chromium and its helpers are in the process group of the driver.
    _driver: Process,
    http: Http,
    session: String,
    _profile: Folder,
}

impl Browser {
    /// Returns a browser with an empty page of a desktop's size, 1280 by 900 pixels. Its user prefers reduced motion,
    /// unless a test says otherwise.
    pub fn lease() -> LeasedBrowser {
        // Made before the browser starts: when it is dropped, the test's place is free again, even if the start fails.
        let mut leased = LeasedBrowser(Pool::take());
        leased.0.get_or_insert_with(Self::start);
        leased
    }

    fn start() -> Self {
        let port = free_port();
        let profile = Folder::new("browser");
        let mut driver = Command::new("chromedriver");
        driver
            .arg(format!("--port={port}"))
            .env("TMPDIR", profile.path())
            .process_group(0);
        let driver = Process::start("chromedriver", driver, &profile.join("log"));
        let http = Http::new(port).header("content-type", "application/json");
        let ready = || {
            let answer = http.try_ask("GET", "/status", None).ok()?;
            (answer.json()["value"]["ready"] == true).then_some(())
        };
        wait::for_some("the driver is ready", wait::SOON, ready);
        let data = format!("--user-data-dir={}", profile.path().join("data").display());
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            // Without a graphics card, each frame of an animation takes processor time.
            "--force-prefers-reduced-motion",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--window-size=1280,900",
            &data,
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": 60_000, "pageLoad": 60_000},
        }}});
        let answer = http.ask("POST", "/session", Some(&wanted.to_string()));
        let session = answer.json()["value"]["sessionId"].clone();
        let session = session.as_str().map(str::to_owned);
        Self {
            session: session.unwrap_or_else(|| panic!("no browser: {}", answer.text())),
            _driver: driver,
            http,
            _profile: profile,
        }
    }

    /// Undoes the settings of a test: headers, sizes, preferences. Then the page is empty.
    fn forget_user(&self) {
        self.open("about:blank");
        self.tell("Network.setExtraHTTPHeaders", &json!({"headers": {}}));
        self.tell("Emulation.clearDeviceMetricsOverride", &json!({}));
        self.tell("Emulation.setEmulatedMedia", &json!({"features": []}));
        self.complaints();
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let path = format!("/session/{}{path}", self.session);
        let body = body.map(ToString::to_string);
        let answer = self.http.ask(method, &path, body.as_deref());
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()["value"].clone()
    }

    /// Sends a command of Chromium's own protocol (DevTools).
    #[track_caller]
    pub fn tell(&self, command: &str, parameters: &Value) -> Value {
        let body = json!({"cmd": command, "params": parameters});
        self.ask("POST", "/goog/cdp/execute", Some(&body))
    }

    /// Sends this `Authorization` header (`Basic …`) with every request.
    #[track_caller]
    pub fn log_in(&self, authorization: &str) {
        self.tell("Network.enable", &json!({}));
        let headers = json!({"headers": {"Authorization": authorization}});
        self.tell("Network.setExtraHTTPHeaders", &headers);
    }

    /// Sets the colour scheme that the user's system prefers: light or dark.
    #[track_caller]
    pub fn prefers(&self, scheme: &str) {
        self.emulate("prefers-color-scheme", scheme);
    }

    /// Sets a preference of the user's system, as style sheets can query it.
    #[track_caller]
    pub fn emulate(&self, feature: &str, value: &str) {
        let features = json!([{"name": feature, "value": value}]);
        self.tell("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// Sets the size of the window.
    #[track_caller]
    pub fn become_desktop(&self, width: u32, height: u32) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.tell("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Makes the page that of a phone with this size.
    #[track_caller]
    pub fn become_phone(&self, width: u32, height: u32) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": true,
        });
        self.tell("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Goes to a page.
    #[track_caller]
    pub fn open(&self, url: &str) {
        self.ask("POST", "/url", Some(&json!({"url": url})));
    }

    /// Runs a script in the page, and returns the script's result.
    #[track_caller]
    pub fn run(&self, script: &str) -> Value {
        let body = json!({"script": script, "args": []});
        self.ask("POST", "/execute/sync", Some(&body))
    }

    /// Waits until an expression is true in the page.
    #[track_caller]
    pub fn wait(&self, what: &str, expression: &str) {
        let script = format!("return !!({expression})");
        wait::until(what, wait::SOON, || self.run(&script) == true);
    }

    /// Clicks on an element as soon as the page has it. While a page refreshes, the element may be missing.
    #[track_caller]
    pub fn click(&self, element: &str) {
        self.wait(
            &format!("{element} can be clicked"),
            &format!("(() => {{ const it = {element}; it?.click(); return it; }})()"),
        );
    }

    /// Types into the element that has the focus. Keys without a letter have numbers in WebDriver.
    #[track_caller]
    pub fn press(&self, keys: &str) {
        let actions: Vec<_> = keys
            .chars()
            .flat_map(|key| {
                let key = key.to_string();
                [
                    json!({"type": "keyDown", "value": key}),
                    json!({"type": "keyUp", "value": key}),
                ]
            })
            .collect();
        let body = json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]});
        self.ask("POST", "/actions", Some(&body));
    }

    /// Returns a screenshot of the page as PNG.
    #[track_caller]
    pub fn screenshot(&self) -> Vec<u8> {
        let told = self.ask("GET", "/screenshot", None);
        from_base64(told.as_str().unwrap_or_default())
    }

    /// Returns a screenshot of the page as WebP, which has a third of a PNG's bytes. `quality`: 0 to 100.
    #[track_caller]
    pub fn picture(&self, quality: u32) -> Vec<u8> {
        let format = json!({"format": "webp", "quality": quality});
        let told = self.tell("Page.captureScreenshot", &format);
        from_base64(told["data"].as_str().unwrap_or_default())
    }

    /// Returns the errors in the page's log, those of its content security policy included.
    #[track_caller]
    pub fn complaints(&self) -> Vec<String> {
        let told = self.ask("POST", "/se/log", Some(&json!({"type": "browser"})));
        let entries = told.as_array().cloned().unwrap_or_default();
        let severe = entries.iter().filter(|it| it["level"] == "SEVERE");
        severe
            .map(|it| it["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Saves a screenshot of the failed test's page. The driver may answer with an error.
            let told = self.http.try_ask(
                "GET",
                &format!("/session/{}/screenshot", self.session),
                None,
            );
            if let Ok(answer) = told {
                let png = from_base64(answer.json()["value"].as_str().unwrap_or_default());
                let path = std::env::temp_dir().join(format!("browser-{}.png", self.session));
                let _ = std::fs::write(&path, png);
                eprintln!("the browser showed {}", path.display());
            }
        }
        let path = format!("/session/{}", self.session);
        // If this request fails, the browser ends with the driver's process group.
        let _ = self.http.try_ask("DELETE", &path, None);
    }
}

/// Decodes base 64 (RFC 4648), and skips characters that are not in its alphabet.
fn from_base64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let place = |byte: u8| LETTERS.iter().position(|it| *it == byte);
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for six in text.bytes().filter_map(place) {
        bits = bits << 6 | six as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    bytes
}
