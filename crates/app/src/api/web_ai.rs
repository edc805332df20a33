//! `GET /api/browser/web-ai/capabilities`: the catalogue of chat apps' capabilities.

use super::reply::{self, Failure};
use crate::config;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::StatusCode;
use axum::response::Response;
use browser::{Code, Error};
use serde::Deserialize;
use std::str::FromStr;
use webai::vendor::Vendors;
use webai::{CatalogueFilter, catalogue};

/// The filters of a request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Filters {
    vendor: Option<String>,
    family: Option<String>,
    frontend_status: Option<String>,
}

/// Lists the capabilities. No browser is needed.
pub(super) async fn capabilities(
    filters: Result<Query<Filters>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(filters) = filters.map_err(|rejection| {
        Failure::of_request(StatusCode::BAD_REQUEST, rejection.body_text().to_lowercase())
    })?;
    if let Some(vendor) = &filters.vendor {
        Vendors::load(config::vendors_folder().as_deref())?.get(vendor)?;
    }
    let filter = CatalogueFilter {
        vendor: filters.vendor,
        family: parse("family", filters.family.as_deref())?,
        frontend_status: parse("frontendStatus", filters.frontend_status.as_deref())?,
    };
    let json = serde_json::to_string(&catalogue(&filter)?)
        .map_err(|error| Error::new(Code::InternalUnhandled).message(error.to_string()))?;
    Ok(reply::json(StatusCode::OK, json))
}

fn parse<T: FromStr<Err = String>>(name: &str, text: Option<&str>) -> Result<Option<T>, Failure> {
    let wrong = |why| Failure::of_request(StatusCode::BAD_REQUEST, format!("`{name}`: {why}"));
    text.map(T::from_str).transpose().map_err(wrong)
}
