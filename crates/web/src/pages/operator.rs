//! Operator's page of recordings. It is on the operator's port, behind its password, and gets all data from the API there.

use http::StatusCode;

use super::html::{self, Page};
use crate::reply::Reply;

/// Policy that allows only this server's scripts; media may also come from the storage of the copies.
const POLICY: &str = "default-src 'self'; media-src 'self' http: https:; object-src 'none'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Builds the page, which its script fills.
pub fn recordings() -> Reply {
    let states = [
        ("", "Any"),
        ("open", "Being recorded"),
        ("closed", "Being completed"),
        ("finalised", "Complete"),
    ];
    let states: String = states
        .iter()
        .map(|(value, label)| format!("<option value=\"{value}\">{label}</option>"))
        .collect();
    let columns = [
        "Stream", "Began", "Length", "Size", "State", "Copy", "Actions",
    ];
    let columns: String = columns
        .iter()
        .map(|label| format!("<th scope=\"col\">{label}</th>"))
        .collect();
    let main = format!(
        "<h1>Recordings</h1>\n\
         <noscript><p>This page needs its script. The API at <code>/api/v1/recordings</code> tells the same.</p>\
         </noscript>\n\
         <h2 id=\"live\">On air</h2>\n\
         <p id=\"nothing-on-air\" class=\"detail\">No stream is on air.</p>\n\
         <ul id=\"on-air\" class=\"addresses\" aria-labelledby=\"live\"></ul>\n\
         <h2 id=\"recorded\">Recorded</h2>\n\
         <form id=\"filter\" class=\"filter\">\n\
         <p><label for=\"stream\">Stream</label>\n\
         <input id=\"stream\" list=\"known\" autocomplete=\"off\" spellcheck=\"false\">\n\
         <datalist id=\"known\"></datalist></p>\n\
         <p><label for=\"from\">From</label>\n<input id=\"from\" type=\"datetime-local\"></p>\n\
         <p><label for=\"to\">To</label>\n<input id=\"to\" type=\"datetime-local\"></p>\n\
         <p><label for=\"state\">State</label>\n<select id=\"state\">{states}</select></p>\n\
         <p><button type=\"submit\">Show</button></p>\n</form>\n\
         <p id=\"said\" role=\"status\" tabindex=\"-1\"></p>\n\
         <video id=\"past\" controls hidden></video>\n\
         <div class=\"table\" role=\"region\" aria-labelledby=\"recorded\" tabindex=\"0\">\n\
         <table>\n<thead><tr>{columns}</tr></thead>\n<tbody id=\"rows\"></tbody>\n</table>\n</div>\n\
         <p id=\"empty\" class=\"detail\" hidden>No recording matches.</p>\n\
         <p><button id=\"more\" type=\"button\" hidden>Show more</button></p>\n\
         <dialog id=\"confirm\" aria-labelledby=\"question\">\n<p id=\"question\"></p>\n\
         <p><button id=\"keep\" type=\"button\" autofocus>Keep</button>\n\
         <button id=\"delete\" type=\"button\">Delete</button></p>\n</dialog>\n"
    );
    let page = Page::new("/recordings", "Recordings")
        .wide()
        .script("operator.js");
    html::answer(POLICY, StatusCode::OK, page.render(&main))
}
