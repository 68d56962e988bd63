//! The dashboard on a phone.

use super::*;

#[test]
fn a_phone_shows_each_view_without_horizontal_scrolling() {
    under_load(|browser, _, address| {
        browser.become_phone(390, 844);
        for view in views(browser) {
            go(browser, address, &view);
            // Content that is too wide would make the page wider than the phone.
            let fits = "innerWidth == 390 && document.documentElement.scrollWidth <= 390";
            browser.wait(&format!("{view} fits"), fits);
            let link = "document.querySelector('nav a[aria-current]').getBoundingClientRect()";
            let is_seen = format!("{link}.left >= 0 && {link}.right <= innerWidth");
            browser.wait(&format!("that it is {view} is seen"), &is_seen);
            let aside = "[...document.querySelectorAll('main tbody td, main button:not(thead button), main input, main select, main textarea')]\
                         .filter(it => it.getBoundingClientRect().right > innerWidth + 1).length";
            browser.wait(&format!("all of {view} is seen"), &format!("{aside} == 0"));
            let first = match &*view {
                "errors" => "main tbody td.wide",
                "sessions" => "main tbody td.first .state",
                _ => continue,
            };
            browser.wait(
                &format!("what matters stands in front in {view}"),
                &format!(
                    "(() => {{ const it = document.querySelector({first:?}); \
                     return it && it.getBoundingClientRect().top <= it.closest('tr').getBoundingClientRect().top + 30; }})()"
                ),
            );
        }
    });
}
